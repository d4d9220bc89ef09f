#include "src/surrogate/polynomial.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>
#include <limits>
#include <utility>

#include "src/surrogate/nonnegative.h"

namespace foretell::surrogate {
namespace {

constexpr double kRidges[] = {1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1};

/// Appends every product whose powers add up to `degree` at most.
void AddProducts(std::vector<std::vector<int>>& products,
                 std::vector<int>& powers, std::size_t column, int degree) {
  if (column == powers.size()) {
    products.push_back(powers);
    return;
  }
  for (int power = 0; power <= degree; ++power) {
    powers[column] = power;
    AddProducts(products, powers, column + 1, degree - power);
  }
  powers[column] = 0;
}

/// Scaled least squares: rows divided by their scale, columns of length 1.
struct Design {
  std::vector<std::vector<int>> products;
  Eigen::MatrixXd matrix;   ///< [rows, products]
  Eigen::VectorXd values;   ///< [rows], divided by their scale.
  Eigen::VectorXd lengths;  ///< Columns were divided by these.

  PowerSum Sum(const Eigen::VectorXd& solution) const {
    std::vector<Term> terms;
    for (std::size_t i = 0; i < products.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      terms.push_back({solution[at] / lengths[at], products[i]});
    }
    return PowerSum(std::move(terms));
  }
};

Design MakeDesign(const Table& table, const Eigen::VectorXd& scale,
                  std::vector<std::vector<int>> products) {
  Design design{.products = std::move(products),
                .matrix = {},
                .values = table.values.array() / scale.array(),
                .lengths = {}};
  const auto count = static_cast<Eigen::Index>(design.products.size());
  design.matrix.resize(table.rows(), count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const PowerSum product({{1, design.products[static_cast<std::size_t>(i)]}});
    design.matrix.col(i) =
        product.Predict(table.inputs).array() / scale.array();
  }
  design.lengths = design.matrix.colwise().norm();
  design.lengths = (design.lengths.array() > 0).select(design.lengths, 1);
  design.matrix *= design.lengths.cwiseInverse().asDiagonal();
  return design;
}

/// Solution of ridge regression, and the mean relative error of rows left out.
struct RidgeFit {
  Eigen::VectorXd solution;
  double left_out = std::numeric_limits<double>::infinity();
};

/// With the hat matrix H, a row left out is wrong by residual / (1 - H_ii).
RidgeFit FitRidge(const Design& design, double ridge) {
  const Eigen::MatrixXd& x = design.matrix;
  Eigen::MatrixXd normal = x.transpose() * x;
  normal.diagonal().array() += ridge;
  const Eigen::LDLT<Eigen::MatrixXd> solver(normal);
  RidgeFit fit{.solution = solver.solve(x.transpose() * design.values)};
  const Eigen::MatrixXd rest = solver.solve(x.transpose());
  const Eigen::ArrayXd leverage =
      (x.array() * rest.transpose().array()).rowwise().sum();
  const Eigen::ArrayXd residual = (x * fit.solution - design.values).array();
  const double error = (residual / (1 - leverage).max(1e-9)).abs().mean();
  if (std::isfinite(error)) fit.left_out = error;
  return fit;
}

}  // namespace

std::vector<std::vector<int>> ProductsUpTo(Eigen::Index columns, int degree) {
  std::vector<std::vector<int>> products;
  std::vector<int> powers(static_cast<std::size_t>(columns), 0);
  AddProducts(products, powers, 0, degree);
  return products;
}

double CountProducts(Eigen::Index columns, int degree) {
  double count = 1;
  for (int i = 1; i <= degree; ++i) {
    count *= static_cast<double>(columns + i) / i;
  }
  return count;
}

PowerSum FitLinear(const Table& table) {
  const Design design = MakeDesign(table, table.values.cwiseAbs(),
                                   ProductsUpTo(table.inputs.cols(), 1));
  return design.Sum(
      design.matrix.completeOrthogonalDecomposition().solve(design.values));
}

PowerSum FitNonNegative(const Table& table,
                        const std::vector<std::vector<int>>& products) {
  const Design design = MakeDesign(table, table.values.cwiseAbs(), products);
  return design.Sum(SolveNonNegative(design.matrix, design.values));
}

PowerSum FitPolynomial(const Table& table) {
  return FitPolynomial(table, table.values.cwiseAbs());
}

PowerSum FitPolynomial(const Table& table, const Eigen::VectorXd& scale) {
  double best = std::numeric_limits<double>::infinity();
  PowerSum chosen;
  for (int degree = 0; degree <= kHighestDegree; ++degree) {
    const double products = CountProducts(table.inputs.cols(), degree);
    if (degree > 1 && 2 * products > static_cast<double>(table.rows())) break;
    const Design design =
        MakeDesign(table, scale, ProductsUpTo(table.inputs.cols(), degree));
    for (const double ridge : kRidges) {
      const RidgeFit fit = FitRidge(design, ridge);
      if (fit.left_out >= best) continue;
      best = fit.left_out;
      chosen = design.Sum(fit.solution);
    }
  }
  return chosen;
}

}  // namespace foretell::surrogate
