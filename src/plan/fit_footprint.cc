#include "src/plan/fit_footprint.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "src/surrogate/polynomial.h"

namespace foretell::plan {
namespace {

using surrogate::PowerSum;
using surrogate::Table;
using Powers = std::vector<int>;

/// Products of more edges, and squares, are what noise looks like too, and grow
/// fastest beyond the runs: they explain enough where they leave less than this
/// share of the error.
constexpr double kFurtherLeaves = 0.5;
/// An error at which nothing is left to explain.
constexpr double kExplained = 1e-3;
/// A family whose error is beyond this many times the best one's is out.
constexpr double kPlausibleTimes = 3;
constexpr double kPlausibleMore = 5e-3;

/// All products of at most `most` different edges, the constant among them.
std::vector<Powers> EdgeProducts(std::size_t axes, int most) {
  std::vector<Powers> products;
  for (std::size_t bits = 0; bits < std::size_t{1} << axes; ++bits) {
    if (std::popcount(bits) > most) continue;
    Powers powers(axes);
    for (std::size_t i = 0; i < axes; ++i) {
      powers[i] = static_cast<int>(bits >> i & 1);
    }
    products.push_back(std::move(powers));
  }
  return products;
}

/// All products, and each with one edge squared, up to the volume's degree.
std::vector<Powers> SquaredProducts(std::size_t axes) {
  std::vector<Powers> products = EdgeProducts(axes, static_cast<int>(axes));
  const auto degree = static_cast<int>(std::max<std::size_t>(axes, 2));
  const std::size_t count = products.size();
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < axes; ++i) {
      Powers powers = products[k];
      if (powers[i] == 0) continue;
      ++powers[i];
      if (std::accumulate(powers.begin(), powers.end(), 0) <= degree) {
        products.push_back(std::move(powers));
      }
    }
  }
  return products;
}

Table Without(const Table& runs, Eigen::Index row) {
  std::vector<Eigen::Index> others;
  for (Eigen::Index i = 0; i < runs.rows(); ++i) {
    if (i != row) others.push_back(i);
  }
  return TakeRows(runs, others);
}

/// A family fitted to all rows and without each of them.
struct FamilyFit {
  PowerSum whole;
  std::vector<PowerSum> without;
  double error = 0;
  double largest_error = 0;
};

FamilyFit FitFamily(const Table& runs, const std::vector<Powers>& products) {
  FamilyFit fit{.whole = FitNonNegative(runs, products)};
  Eigen::VectorXd left_out(runs.rows());
  for (Eigen::Index row = 0; row < runs.rows(); ++row) {
    fit.without.push_back(FitNonNegative(Without(runs, row), products));
    left_out[row] = fit.without.back().Predict(runs.inputs.row(row))[0];
  }
  fit.error = surrogate::MeanError(left_out, runs.values);
  fit.largest_error = surrogate::LargestError(left_out, runs.values);
  return fit;
}

/// Every family, from the simplest one on.
std::vector<FamilyFit> FitFamilies(const Table& runs) {
  const std::size_t axes = runs.columns.size();
  std::vector<FamilyFit> fits;
  for (int edges = 1; edges <= static_cast<int>(axes); ++edges) {
    fits.push_back(FitFamily(runs, EdgeProducts(axes, edges)));
  }
  fits.push_back(FitFamily(runs, SquaredProducts(axes)));
  return fits;
}

}  // namespace

FittedFootprint FitFootprint(const Table& runs) {
  std::vector<FamilyFit> fits = FitFamilies(runs);
  FamilyFit* chosen = &fits.front();
  for (FamilyFit& fit : fits) {
    if (chosen->error <= kExplained) break;
    if (fit.error < kFurtherLeaves * chosen->error) chosen = &fit;
  }
  return {std::move(chosen->whole), chosen->error, chosen->largest_error};
}

std::vector<PowerSum> FitEnsemble(const Table& runs) {
  std::vector<FamilyFit> fits = FitFamilies(runs);
  const double least = std::ranges::min(fits, {}, &FamilyFit::error).error;
  std::vector<PowerSum> ensemble;
  for (FamilyFit& fit : fits) {
    if (fit.error > kPlausibleTimes * least + kPlausibleMore) continue;
    ensemble.push_back(std::move(fit.whole));
    std::ranges::move(fit.without, std::back_inserter(ensemble));
  }
  return ensemble;
}

Doubt MostDoubted(const std::vector<PowerSum>& ensemble,
                  const Eigen::MatrixXd& candidates) {
  Eigen::ArrayXXd answers(candidates.rows(), std::ssize(ensemble));
  for (Eigen::Index i = 0; i < answers.cols(); ++i) {
    answers.col(i) =
        ensemble[static_cast<std::size_t>(i)].Predict(candidates).array();
  }
  const Eigen::ArrayXd mean = answers.rowwise().mean();
  const Eigen::ArrayXd variance =
      (answers.colwise() - mean).square().rowwise().mean();
  Doubt doubt;
  doubt.spread = (variance.sqrt() / mean).maxCoeff(&doubt.candidate);
  return doubt;
}

}  // namespace foretell::plan
