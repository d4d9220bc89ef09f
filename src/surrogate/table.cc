#include "src/surrogate/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"
#include "src/core/random.h"

namespace foretell::surrogate {
namespace {

/// A table while it is read, row by row.
struct RawTable {
  std::string path;
  std::string target;
  std::vector<std::string> columns;  ///< Inputs; empty before the first row.
  std::vector<double> cells;         ///< Inputs, row by row.
  std::vector<double> values;
};

[[noreturn]] void RefuseCell(const RawTable& raw, const CsvRow& row,
                             const std::string& column,
                             const std::string& expected) {
  throw Corrupt("{}:{}: {} is '{}', expected {}", raw.path, row.line(), column,
                row.At(column), expected);
}

double NumberAt(const RawTable& raw, const CsvRow& row,
                const std::string& column) {
  const std::optional<double> number = ParseNumber<double>(row.At(column));
  if (!number || !std::isfinite(*number)) {
    RefuseCell(raw, row, column, "a finite number");
  }
  if (std::abs(*number) > kLargestNumber) {
    RefuseCell(raw, row, column,
               fmt::format("a number of at most {:g}", kLargestNumber));
  }
  return *number;
}

/// Every column of `row` except the target. Only columns without a name can
/// share a name, and of these only the first can be read.
void ChooseColumns(RawTable& raw, const CsvRow& row) {
  if (std::ranges::count(row.columns(), "") > 1) {
    throw Corrupt("{}: two columns are named ''", raw.path);
  }
  for (const std::string& column : row.columns()) {
    if (column != raw.target) raw.columns.push_back(column);
  }
}

void AddRow(RawTable& raw, const CsvRow& row) {
  if (raw.columns.empty()) ChooseColumns(raw, row);
  raw.values.push_back(NumberAt(raw, row, raw.target));
  if (raw.values.back() == 0) {
    RefuseCell(raw, row, raw.target, "another number than 0");
  }
  for (const std::string& column : raw.columns) {
    raw.cells.push_back(NumberAt(raw, row, column));
  }
}

void CheckNames(const RawTable& raw) {
  std::set<std::string> names;
  for (const std::string& column : raw.columns) {
    if (names.insert(column).second) continue;
    throw InvalidArgument("{}: column '{}' is named twice", raw.path, column);
  }
  if (std::ranges::find(raw.columns, raw.target) == raw.columns.end()) return;
  throw InvalidArgument(
      "{}: column '{}' is the target, and cannot be an input too", raw.path,
      raw.target);
}

void CheckRows(const RawTable& raw) {
  if (std::ssize(raw.values) < kFewestTableRows) {
    throw Corrupt("{}: has {}, expected at least {}", raw.path,
                  Counted(raw.values.size(), "row"), kFewestTableRows);
  }
  if (raw.columns.empty()) {
    throw Corrupt("{}: has no column other than '{}'", raw.path, raw.target);
  }
  const auto [least, most] = std::ranges::minmax(raw.values);
  if (least < most) return;
  throw Corrupt("{}: {} is {} in all {}: there is nothing to fit", raw.path,
                raw.target, least, Counted(raw.values.size(), "row"));
}

}  // namespace

Table ReadTable(const std::string& path, const std::string& target,
                const std::vector<std::string>& columns) {
  RawTable raw{.path = path,
               .target = target,
               .columns = columns,
               .cells = {},
               .values = {}};
  CheckNames(raw);
  ForEachCsvRow(path, [&raw](const CsvRow& row) { AddRow(raw, row); });
  CheckRows(raw);
  using RowMajor =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rows = static_cast<Eigen::Index>(raw.values.size());
  const auto width = static_cast<Eigen::Index>(raw.columns.size());
  return {.columns = raw.columns,
          .target = target,
          .inputs = Eigen::Map<const RowMajor>(raw.cells.data(), rows, width),
          .values = Eigen::Map<const Eigen::VectorXd>(raw.values.data(), rows)};
}

Table TakeRows(const Table& table, const std::vector<Eigen::Index>& rows) {
  return {.columns = table.columns,
          .target = table.target,
          .inputs = table.inputs(rows, Eigen::all),
          .values = table.values(rows)};
}

SplitTable Split(const Table& table, double share, std::uint64_t seed) {
  if (!(share > 0 && share < 1)) {
    throw InvalidArgument(
        "{} of the rows cannot be held out, expected a share between 0 and 1",
        share);
  }
  std::vector<Eigen::Index> order(static_cast<std::size_t>(table.rows()));
  std::iota(order.begin(), order.end(), 0);
  Random(seed).Shuffle(order);
  const auto held_out = std::clamp<std::ptrdiff_t>(
      std::llround(share * static_cast<double>(order.size())), 1,
      std::ssize(order) - 1);
  return {
      .fitted = TakeRows(table, {order.begin() + held_out, order.end()}),
      .held_out = TakeRows(table, {order.begin(), order.begin() + held_out})};
}

bool IsNearlyAsGood(double error, double least) {
  constexpr double kTimes = 1.1;
  constexpr double kMore = 2e-3;
  return error <= std::max(kTimes * least, least + kMore);
}

double MeanError(const Eigen::VectorXd& predicted,
                 const Eigen::VectorXd& values) {
  return ((predicted - values).array() / values.array()).abs().mean();
}

double LargestError(const Eigen::VectorXd& predicted,
                    const Eigen::VectorXd& values) {
  return ((predicted - values).array() / values.array()).abs().maxCoeff();
}

}  // namespace foretell::surrogate
