#include "frontends/onnx/ops/resample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretell::onnx {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

using Kernel = ResampleRule::Kernel;

std::vector<double> Positions(const std::string& coordinates,
                              AxisCoordinates axis) {
  return OriginalPositions({.coordinates = coordinates}, axis).value();
}

TEST(Resample, HalfPixelPutsOutputsBetweenThePixelsTheyCover) {
  EXPECT_THAT(Positions("half_pixel", {.input = 2, .output = 4, .scale = 2}),
              ElementsAre(-0.25, 0.25, 0.75, 1.25));
}

TEST(Resample, AlignCornersKeepsBothEnds) {
  EXPECT_THAT(
      Positions("align_corners", {.input = 3, .output = 5, .scale = 5.0 / 3}),
      Pointwise(DoubleNear(1e-12), {0.0, 0.5, 1.0, 1.5, 2.0}));
}

TEST(Resample, AsymmetricDividesByTheScale) {
  EXPECT_THAT(Positions("asymmetric", {.input = 2, .output = 4, .scale = 2}),
              ElementsAre(0, 0.5, 1, 1.5));
}

TEST(Resample, PytorchHalfPixelTakesTheFirstElementForASingleOne) {
  const AxisCoordinates axis{.input = 4, .output = 1, .scale = 0.25};
  EXPECT_THAT(Positions("pytorch_half_pixel", axis), ElementsAre(0));
  EXPECT_THAT(Positions("half_pixel", axis), ElementsAre(1.5));
}

TEST(Resample, CropAndResizeSpansTheRegion) {
  EXPECT_THAT(Positions("tf_crop_and_resize", {.input = 5,
                                               .output = 3,
                                               .scale = 0.6,
                                               .roi_begin = 0.25,
                                               .roi_end = 0.75}),
              ElementsAre(1, 2, 3));
}

TEST(Resample, DoesNotKnowOtherCoordinates) {
  EXPECT_EQ(
      OriginalPositions({.coordinates = "diagonal"}, {.input = 1, .output = 1}),
      std::nullopt);
}

TEST(Resample, NearestModesDifferAtHalves) {
  const AxisCoordinates axis{.input = 4, .output = 3};
  const std::vector<double> positions = {0.5, 1.5, 2.25};
  const auto elements = [&](const std::string& mode) {
    return NearestElements({.nearest_mode = mode}, axis, positions).value();
  };
  EXPECT_THAT(elements("round_prefer_floor"), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements("round_prefer_ceil"), ElementsAre(1, 2, 2));
  EXPECT_THAT(elements("floor"), ElementsAre(0, 1, 2));
  EXPECT_THAT(elements("ceil"), ElementsAre(1, 2, 3));
}

TEST(Resample, LinearWeightsRepeatTheEnds) {
  const AxisCoordinates axis{.input = 2, .output = 2};
  EXPECT_THAT(
      InterpolationWeights({.kernel = Kernel::kLinear}, axis, {-0.25, 0.75}),
      ElementsAre(1, 0, 0.25, 0.75));
}

TEST(Resample, CubicWeightsAreThoseOfKeys) {
  // With a = −0.75 the weights half-way between two pixels are −3/32, 19/32.
  const AxisCoordinates axis{.input = 4, .output = 1};
  EXPECT_THAT(
      InterpolationWeights({.kernel = Kernel::kCubic}, axis, {1.5}),
      Pointwise(DoubleNear(1e-12), {-0.09375, 0.59375, 0.59375, -0.09375}));
}

TEST(Resample, ExcludingTheOutsideScalesTheRestUp) {
  // Of −3/32, 19/32, 19/32, −3/32 around −0.5 the last two lie inside.
  const AxisCoordinates axis{.input = 2, .output = 1};
  const std::vector<double> weights = InterpolationWeights(
      {.kernel = Kernel::kCubic, .exclude_outside = true}, axis, {-0.5});
  EXPECT_THAT(weights, Pointwise(DoubleNear(1e-12), {19.0 / 16, -3.0 / 16}));
}

TEST(Resample, AntialiasingStretchesTheTriangle) {
  // Shrinking by 2 gives distances ±0.5 and ±1.5 the weights 3/8 and 1/8.
  const AxisCoordinates axis{.input = 4, .output = 1, .scale = 0.5};
  EXPECT_THAT(InterpolationWeights(
                  {.kernel = Kernel::kLinear, .antialias = true}, axis, {1.5}),
              Pointwise(DoubleNear(1e-12), {0.125, 0.375, 0.375, 0.125}));
}

}  // namespace
}  // namespace foretell::onnx
