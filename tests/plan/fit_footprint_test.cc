#include "src/plan/fit_footprint.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace foretell::plan {
namespace {

using Bytes = std::function<double(double, double, double)>;

surrogate::Table RunsOf(const std::vector<std::vector<double>>& shapes,
                        const Bytes& bytes) {
  surrogate::Table table{.columns = {"z", "y", "x"},
                         .target = "bytes",
                         .inputs = Eigen::MatrixXd(std::ssize(shapes), 3),
                         .values = Eigen::VectorXd(std::ssize(shapes))};
  for (Eigen::Index i = 0; i < table.rows(); ++i) {
    const std::vector<double>& shape = shapes[static_cast<std::size_t>(i)];
    table.inputs.row(i) << shape[0], shape[1], shape[2];
    table.values[i] = bytes(shape[0], shape[1], shape[2]);
  }
  return table;
}

const std::vector<std::vector<double>> kShapes = {
    {8, 8, 8},   {64, 64, 64}, {32, 32, 32}, {8, 64, 64}, {64, 8, 64},
    {64, 64, 8}, {16, 16, 64}, {16, 48, 16}, {48, 16, 16}};

double At(const FittedFootprint& fitted, double z, double y, double x) {
  return fitted.bytes.Predict(Eigen::RowVector3d(z, y, x))[0];
}

TEST(FitFootprint, NeedsNoMoreThanAConstantAndElements) {
  const FittedFootprint fitted =
      FitFootprint(RunsOf(kShapes, [](double z, double y, double x) {
        return 5e5 + 12 * z * y * x;
      }));
  EXPECT_LT(fitted.largest_error, 1e-9);
  EXPECT_NEAR(At(fitted, 500, 500, 500), 5e5 + 12.0 * 500 * 500 * 500, 1e3);
}

TEST(FitFootprint, FindsHalos) {
  const Bytes halo = [](double z, double y, double x) {
    return 5e5 + 12 * (z + 4) * (y + 4) * (x + 2);
  };
  const FittedFootprint fitted = FitFootprint(RunsOf(kShapes, halo));
  EXPECT_NEAR(At(fitted, 300, 200, 400) / halo(300, 200, 400), 1, 1e-3);
}

TEST(FitFootprint, TakesNoFurtherFamilyForALittleNoise) {
  // The factors of a product, and a buffer that large ones take.
  const Bytes product = [](double m, double k, double n) {
    return 1e5 + 8 * (m * k + k * n + m * n) + (m * k * n > 1e5 ? 2e3 : 0);
  };
  const FittedFootprint fitted = FitFootprint(RunsOf(kShapes, product));
  EXPECT_NEAR(At(fitted, 1024, 1024, 1024) / product(1024, 1024, 1024), 1,
              0.05);
}

TEST(FitFootprint, FindsTheSquareOfAnEdge) {
  const Bytes square = [](double z, double y, double x) {
    return 5e5 + 12 * z * y * x + 400 * z * z;
  };
  const FittedFootprint fitted = FitFootprint(RunsOf(kShapes, square));
  EXPECT_NEAR(At(fitted, 256, 128, 128) / square(256, 128, 128), 1, 0.02);
}

TEST(MostDoubted, IsTheOneThatTheRunsLeaveOpen) {
  // Cubes alone do not say whether faces or squares cost.
  const surrogate::Table cubes =
      RunsOf({{8, 8, 8}, {16, 16, 16}, {32, 32, 32}, {64, 64, 64}},
             [](double z, double y, double x) {
               return 1e5 + 4 * z * y * x + 300 * z * z;
             });
  Eigen::MatrixXd candidates(3, 3);
  candidates << 24, 24, 24, 4, 4, 256, 48, 48, 48;
  const Doubt doubt = MostDoubted(FitEnsemble(cubes), candidates);
  EXPECT_EQ(doubt.candidate, 1);
  EXPECT_GT(doubt.spread, 0.05);
}

TEST(MostDoubted, IsWhereTwoModelsDifferMost) {
  const std::vector<surrogate::PowerSum> two = {
      surrogate::PowerSum({{10, {0}}, {1, {1}}}),
      surrogate::PowerSum({{10, {0}}, {3, {1}}})};
  const Doubt doubt = MostDoubted(two, Eigen::Vector3d(0, 10, 5));
  // 20 and 40: mean 30, standard deviation 10.
  EXPECT_EQ(doubt.candidate, 1);
  EXPECT_NEAR(doubt.spread, 1.0 / 3, 1e-12);
}

}  // namespace
}  // namespace foretell::plan
