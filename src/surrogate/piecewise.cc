#include "src/surrogate/piecewise.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "src/surrogate/polynomial.h"

namespace foretell::surrogate {
namespace {

constexpr std::size_t kMostTerms = 12;
/// A lower degree than kHighestDegree is used where there would be more
/// products.
constexpr double kMostProducts = 40;
/// Knots of a product to choose from.
constexpr std::size_t kMostKnots = 20;
/// Terms are chosen by this many rows at most; all rows fit their coefficients.
constexpr Eigen::Index kMostRows = 4000;
/// A candidate with less than this share of its length left apart from the
/// terms that were chosen is equivalent to one of them.
constexpr double kLeastNew = 1e-5;

/// A product of the inputs, or a bend of it.
struct Candidate {
  std::vector<int> powers;
  std::optional<double> knot;
};

/// Of a candidate, a row each.
Eigen::ArrayXd ValuesOf(const Candidate& candidate,
                        const Eigen::MatrixXd& inputs) {
  const Eigen::ArrayXd product =
      PowerSum({{1, candidate.powers}}).Predict(inputs).array();
  if (!candidate.knot) return product;
  return (product - *candidate.knot).max(0);
}

/// Values between the least and the largest, evenly among those that occur.
std::vector<double> KnotsOf(const Eigen::ArrayXd& product) {
  std::vector<double> values(product.begin(), product.end());
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 3) return {};
  const std::size_t inner = values.size() - 2;
  const std::size_t count = std::min(inner, kMostKnots);
  std::vector<double> knots;
  for (std::size_t i = 0; i < count; ++i) {
    knots.push_back(values[1 + (2 * i + 1) * inner / (2 * count)]);
  }
  return knots;
}

/// The constant first.
std::vector<Candidate> CandidatesOf(const Eigen::MatrixXd& inputs) {
  int degree = kHighestDegree;
  while (degree > 1 && CountProducts(inputs.cols(), degree) > kMostProducts) {
    --degree;
  }
  std::vector<Candidate> candidates;
  std::vector<Candidate> bends;
  for (std::vector<int>& powers : ProductsUpTo(inputs.cols(), degree)) {
    const Candidate product{std::move(powers), std::nullopt};
    for (const double knot : KnotsOf(ValuesOf(product, inputs))) {
      bends.push_back({product.powers, knot});
    }
    candidates.push_back(product);
  }
  candidates.insert(candidates.end(), bends.begin(), bends.end());
  return candidates;
}

/// Rows evenly over the table, where it has too many.
Table Thinned(const Table& table) {
  std::vector<Eigen::Index> rows;
  const Eigen::Index step = (table.rows() - 1) / kMostRows + 1;
  for (Eigen::Index i = 0; i < table.rows(); i += step) rows.push_back(i);
  return TakeRows(table, rows);
}

/// Candidates as columns, a row divided by its value.
Eigen::MatrixXd ColumnsOf(const std::vector<Candidate>& candidates,
                          const Table& table) {
  Eigen::MatrixXd columns(table.rows(), std::ssize(candidates));
  for (Eigen::Index i = 0; i < columns.cols(); ++i) {
    const Candidate& one = candidates[static_cast<std::size_t>(i)];
    columns.col(i) =
        (ValuesOf(one, table.inputs) / table.values.array()).matrix();
  }
  return columns;
}

/// Scales columns to length 1, except those of length 0, and returns what they
/// were divided by.
Eigen::VectorXd Normalize(Eigen::MatrixXd& columns) {
  Eigen::VectorXd lengths = columns.colwise().norm();
  lengths = (lengths.array() > 0).select(lengths, 1);
  columns *= lengths.cwiseInverse().asDiagonal();
  return lengths;
}

/// What the chosen terms leave of the target, which is 1 in every row.
struct Remainder {
  explicit Remainder(Eigen::Index rows)
      : residual(Eigen::VectorXd::Ones(rows)),
        leverage(Eigen::ArrayXd::Zero(rows)) {}

  /// Adds a term that is orthogonal to the others and of length 1.
  void Take(const Eigen::VectorXd& term, bool is_bend) {
    residual -= term * term.dot(residual);
    leverage += term.array().square();
    parameters += is_bend ? 2 : 1;
  }

  double ExpectedError() const {
    const auto rows = static_cast<double>(residual.size());
    if (parameters >= rows) return std::numeric_limits<double>::max();
    const Eigen::ArrayXd off = residual.array().abs();
    const double left_out = (off / (1 - leverage).max(1e-9)).mean();
    const double akaike =
        off.mean() * (rows + parameters) / (rows - parameters);
    return std::max(left_out, akaike);
  }

  Eigen::VectorXd residual;
  Eigen::ArrayXd leverage;  ///< How much a row weighs in its own prediction.
  double parameters = 0;
};

/// The column that reduces the squares most; empty if none does.
std::optional<Eigen::Index> BestColumn(const Eigen::MatrixXd& columns,
                                       const Remainder& rest) {
  const Eigen::ArrayXd lengths = columns.colwise().norm();
  const Eigen::ArrayXd along = (columns.transpose() * rest.residual).array();
  Eigen::Index best = 0;
  const double gain = (lengths > kLeastNew)
                          .select(along / lengths.max(kLeastNew), 0)
                          .abs()
                          .maxCoeff(&best);
  if (gain > 0) return best;
  return std::nullopt;
}

std::size_t FewestThatAreGood(const std::vector<double>& expected_errors) {
  const double least = std::ranges::min(expected_errors);
  const auto kept = std::ranges::find_if(
      expected_errors,
      [least](double error) { return IsNearlyAsGood(error, least); });
  return static_cast<std::size_t>(kept - expected_errors.begin()) + 1;
}

/// Orthogonal least squares: all columns are kept orthogonal to the chosen
/// terms.
std::vector<Candidate> TakeTerms(const std::vector<Candidate>& candidates,
                                 const Table& table) {
  Eigen::MatrixXd columns = ColumnsOf(candidates, table);
  Normalize(columns);
  Remainder rest(table.rows());
  std::vector<Candidate> taken;
  std::vector<double> expected;
  std::optional<Eigen::Index> next = 0;  // The constant.
  while (next && taken.size() < kMostTerms) {
    const Eigen::VectorXd term = columns.col(*next).normalized();
    taken.push_back(candidates[static_cast<std::size_t>(*next)]);
    rest.Take(term, taken.back().knot.has_value());
    expected.push_back(rest.ExpectedError());
    columns -= term * (term.transpose() * columns);
    next = BestColumn(columns, rest);
  }
  taken.resize(FewestThatAreGood(expected));
  return taken;
}

}  // namespace

BentSum FitPiecewise(const Table& table) {
  const Table sample = Thinned(table);
  const std::vector<Candidate> taken =
      TakeTerms(CandidatesOf(sample.inputs), sample);
  Eigen::MatrixXd columns = ColumnsOf(taken, table);
  const Eigen::VectorXd lengths = Normalize(columns);
  const Eigen::VectorXd solution =
      columns.completeOrthogonalDecomposition()
          .solve(Eigen::VectorXd::Ones(table.rows()))
          .cwiseQuotient(lengths);
  std::vector<Term> terms;
  std::vector<Bend> bends;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const Term term{solution[static_cast<Eigen::Index>(i)], taken[i].powers};
    if (taken[i].knot) {
      bends.push_back({term, *taken[i].knot});
    } else {
      terms.push_back(term);
    }
  }
  return BentSum(PowerSum(std::move(terms)), std::move(bends));
}

}  // namespace foretell::surrogate
