#include "tests/conformance/comparison.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace foretell::conformance {
namespace {

using onnx::Sequence;
using onnx::Value;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor Floats(const std::vector<double>& values,
                  at::ScalarType type = at::kFloat) {
  return at::tensor(values, at::dtype(at::kDouble)).to(type);
}

at::Tensor Integers(const std::vector<std::int64_t>& values,
                    at::ScalarType type = at::kLong) {
  return at::tensor(values, at::dtype(at::kLong)).to(type);
}

std::string Compare(const Value& expected, const Value& actual,
                    const Tolerance& tolerance = {}) {
  return Difference(expected, actual, tolerance).value_or("alike");
}

TEST(Comparison, AcceptsWhatLiesWithinTheRelativeTolerance) {
  EXPECT_EQ(Compare(Floats({1000}), Floats({1000.9})), "alike");
  EXPECT_EQ(Compare(Floats({1, 1000}), Floats({1, 1002})),
            "element 1 is 1002, expected 1000");
}

TEST(Comparison, MeasuresRelativeToTheExpectedValue) {
  const Tolerance half{.rtol = 0.5, .atol = 0};
  EXPECT_EQ(Compare(Floats({2}), Floats({1}), half), "alike");
  EXPECT_EQ(Compare(Floats({1}), Floats({2}), half),
            "element 0 is 2, expected 1");
}

TEST(Comparison, UsesTheAbsoluteToleranceAtZero) {
  EXPECT_EQ(Compare(Floats({0}), Floats({9e-8})), "alike");
  EXPECT_NE(Compare(Floats({0}), Floats({2e-7})), "alike");
  EXPECT_EQ(Compare(Floats({0}), Floats({2e-7}), {.atol = 1e-6}), "alike");
}

TEST(Comparison, TakesNaNAsEqualToNaNAlone) {
  EXPECT_EQ(Compare(Floats({kNaN}), Floats({kNaN})), "alike");
  EXPECT_NE(Compare(Floats({kNaN}), Floats({0})), "alike");
  EXPECT_NE(Compare(Floats({0}), Floats({kNaN})), "alike");
}

TEST(Comparison, WantsInfinitiesWithTheirSign) {
  EXPECT_EQ(Compare(Floats({kInfinity}), Floats({kInfinity})), "alike");
  EXPECT_NE(Compare(Floats({kInfinity}), Floats({-kInfinity})), "alike");
  EXPECT_NE(Compare(Floats({kInfinity}), Floats({1e30})), "alike");
}

TEST(Comparison, AllowsTwoUnitsInTheLastPlaceOfBFloat16) {
  const double two_units = 1 + 1.0 / 64;
  EXPECT_EQ(
      Compare(Floats({1}, at::kBFloat16), Floats({two_units}, at::kBFloat16)),
      "alike");
  EXPECT_NE(Compare(Floats({1}, at::kHalf), Floats({two_units}, at::kHalf)),
            "alike");
}

TEST(Comparison, WantsIntegersExactly) {
  EXPECT_EQ(Compare(Integers({100000}), Integers({100001})),
            "element 0 is 100001, expected 100000");
  EXPECT_EQ(
      Compare(Integers({7, 255}, at::kByte), Integers({7, 254}, at::kByte)),
      "element 1 is 254, expected 255");
  EXPECT_EQ(Compare(Integers({-1}).view(at::kUInt64),
                    Integers({5}).view(at::kUInt64)),
            "element 0 is 5, expected 18446744073709551615");
}

TEST(Comparison, ComparesStridedTensorsByElement) {
  const at::Tensor matrix = Integers({1, 2, 3, 4}).view({2, 2});
  EXPECT_EQ(Compare(Integers({1, 3, 2, 4}).view({2, 2}), matrix.t()), "alike");
}

TEST(Comparison, WantsTheSameTypeAndShape) {
  EXPECT_EQ(Compare(Integers({1}), Integers({1}, at::kInt)),
            "type Int, expected Long");
  EXPECT_EQ(Compare(at::zeros({2, 3}), at::zeros({3, 2})),
            "shape [3, 2], expected [2, 3]");
  EXPECT_EQ(Compare(at::zeros({}), at::zeros({1})), "shape [1], expected []");
}

TEST(Comparison, LooksOnlyAtTypeAndShapeWhereValuesAreRandom) {
  const auto differ = [](const at::Tensor& expected, const at::Tensor& actual) {
    return Difference(expected, actual, {}, Strictness::kTypesAndShape)
        .has_value();
  };
  EXPECT_FALSE(differ(Floats({1}), Floats({2})));
  EXPECT_TRUE(differ(Floats({1}), Integers({1})));
  EXPECT_TRUE(differ(Floats({1}), Floats({1, 1})));
}

TEST(Comparison, ComparesSequencesItemByItem) {
  const Sequence expected{Floats({1}), Floats({2})};
  EXPECT_EQ(Compare(expected, Sequence{Floats({1}), Floats({2})}), "alike");
  EXPECT_EQ(Compare(expected, Sequence{Floats({1}), Floats({3})}),
            "item 1: element 0 is 3, expected 2");
  EXPECT_EQ(Compare(expected, Sequence{Floats({1})}),
            "sequence length 1, expected 2");
}

TEST(Comparison, TellsKindsOfValuesApart) {
  EXPECT_EQ(Compare(Floats({1}), Sequence{Floats({1})}),
            "a sequence, expected tensor");
  EXPECT_EQ(Compare(std::monostate(), Floats({1})),
            "a tensor, expected empty optional");
  EXPECT_EQ(Compare(std::monostate(), std::monostate()), "alike");
  EXPECT_EQ(Compare(Floats({1}), at::Tensor()),
            "an undefined tensor, expected a defined one");
}

}  // namespace
}  // namespace foretell::conformance
