#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

// A small table of numbers: some columns are inputs, one is what a model should
// predict from them.

namespace foretell::surrogate {

/// Fewest rows of a table: some to fit, one to judge by.
inline constexpr std::int64_t kFewestTableRows = 4;

/// Largest magnitude of a cell: products of a few columns, and squares of
/// these, are doubles too.
inline constexpr double kLargestNumber = 1e30;

/// Rows that a model is fitted to or judged by.
struct Table {
  std::vector<std::string> columns;  ///< Names of the inputs.
  std::string target;                ///< Name of the target.
  Eigen::MatrixXd inputs;            ///< [rows, columns], finite.
  Eigen::VectorXd values;            ///< Target, [rows], finite, none is 0.

  Eigen::Index rows() const { return inputs.rows(); }
};

/// Reads a CSV table with a header. `columns` are the inputs; empty: all except
/// the target.
///
/// Throws what ForEachCsvRow throws, and Error that names the path, the line,
/// the column and the value: kInvalidArgument for a column that is missing or
/// both input and target or named twice, kCorrupt for a cell that is not a
/// finite number or beyond kLargestNumber, a
/// target of 0 (errors are shares of it), fewer rows than kFewestTableRows or a
/// target that is the same in all of them.
Table ReadTable(const std::string& path, const std::string& target,
                const std::vector<std::string>& columns);

/// The rows whose numbers are given, in that order.
Table TakeRows(const Table& table, const std::vector<Eigen::Index>& rows);

/// A table in two.
struct SplitTable {
  Table fitted;
  Table held_out;
};

/// Holds out `share` of the rows, drawn by `seed`: at least one, and at most
/// all except one. Throws Error(kInvalidArgument) for a share outside (0, 1).
SplitTable Split(const Table& table, double share, std::uint64_t seed);

/// Mean of |predicted - value| / |value|, as a share of 1.
double MeanError(const Eigen::VectorXd& predicted,
                 const Eigen::VectorXd& values);

/// Largest |predicted - value| / |value|, as a share of 1.
double LargestError(const Eigen::VectorXd& predicted,
                    const Eigen::VectorXd& values);

/// Whether an error is as good as the `least` one for a reader of the formula:
/// within a tenth of it, or two thousandths of the target.
bool IsNearlyAsGood(double error, double least);

}  // namespace foretell::surrogate
