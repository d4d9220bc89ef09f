#include "src/features/targets.h"

#include <gtest/gtest.h>

namespace foretell::learned {
namespace {

TEST(TargetScale, TakesTheLogarithmOfTheRatioToThePrior) {
  const TargetScale scale{Target::kLatency, ScaleKind::kLog, 0.5, 2};
  const double e = std::exp(1.0);
  EXPECT_NEAR(Encode(scale, 10 * e, 10), (1 - 0.5) / 2, 1e-12);
  EXPECT_NEAR(Decode(scale, 0.25, 10), 10 * e, 1e-9);
}

TEST(TargetScale, ReturnsWhatItWasGiven) {
  for (const ScaleKind kind : {ScaleKind::kLog, ScaleKind::kDippm}) {
    for (const Target target : kAllTargets) {
      const TargetScale scale{target, kind, -1.3, 0.7};
      EXPECT_NEAR(Decode(scale, Encode(scale, 123.4, 1), 1), 123.4, 1e-9);
    }
  }
}

TEST(TargetScale, ScalesAsTheReleasedCodeOfDippm) {
  const auto scaled = [](Target target) {
    return Encode({target, ScaleKind::kDippm}, 3, 1);
  };
  EXPECT_EQ(scaled(Target::kMemory), 3);
  EXPECT_EQ(scaled(Target::kLatency), 3000);
  EXPECT_EQ(scaled(Target::kEnergy), 30);
}

TEST(TargetScale, StaysFiniteForAnyOutput) {
  const TargetScale scale{Target::kMemory, ScaleKind::kLog, 0, 1};
  EXPECT_TRUE(std::isfinite(Decode(scale, 1e30, 1000)));
  EXPECT_GT(Decode(scale, -1e30, 1000), 0);
}

TEST(Target, IsFoundByNameAndField) {
  EXPECT_EQ(ParseTarget("energy"), Target::kEnergy);
  EXPECT_EQ(ParseTarget("memory_mib"), Target::kMemory);
  EXPECT_EQ(ParseTarget("speed"), std::nullopt);
}

}  // namespace
}  // namespace foretell::learned
