#include "src/plan/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "foretell/error.h"
#include "src/core/random.h"
#include "tests/graph/expect_error.h"

namespace foretell::plan {
namespace {

using Shape = std::vector<std::int64_t>;

const std::vector<surrogate::Axis> kVolume =
    surrogate::ParseAxes("z=8..128,y=8..128,x=8..128");

/// A process of 70 MB that keeps three arrays of floats with a halo of 2, and
/// one of doubles.
double KnownBytes(const Shape& shape) {
  const auto product = [&shape](double more) {
    double elements = 1;
    for (const std::int64_t size : shape) {
      elements *= static_cast<double>(size) + more;
    }
    return elements;
  };
  return 70e6 + 12 * product(4) + 8 * product(0);
}

TEST(ExploreFootprint, FindsAKnownFootprintFarBeyondItsRuns) {
  Random noise(1);
  const Footprint found =
      ExploreFootprint({.axes = kVolume}, [&](const Shape& shape) {
        // Pages come and go: half a megabyte.
        return std::llround(KnownBytes(shape) + noise.Between(0, 5e5));
      });
  EXPECT_LE(found.runs.size(), 12u);
  for (const Shape& shape :
       {Shape{400, 400, 400}, Shape{64, 1000, 1000}, Shape{2000, 200, 50}}) {
    EXPECT_NEAR(PeakBytes(found, shape) / KnownBytes(shape), 1, 0.02);
  }
}

TEST(ExploreFootprint, BeginsWithTheSmallestAndTheLargestBlock) {
  std::vector<Shape> shapes;
  ExploreFootprint({.axes = kVolume, .runs = 6}, [&](const Shape& shape) {
    shapes.push_back(shape);
    return std::llround(KnownBytes(shape));
  });
  EXPECT_THAT(shapes[0], testing::ElementsAre(8, 8, 8));
  EXPECT_THAT(shapes[1], testing::ElementsAre(128, 128, 128));
  EXPECT_EQ(std::set<Shape>(shapes.begin(), shapes.end()).size(),
            shapes.size());
}

TEST(ExploreFootprint, KeepsWhatFailed) {
  const Footprint found =
      ExploreFootprint({.axes = kVolume}, [](const Shape& shape) {
        if (shape[0] * shape[1] * shape[2] > 500000) {
          throw Error(ErrorCode::kUnsupported, "too large");
        }
        return std::llround(KnownBytes(shape));
      });
  ASSERT_FALSE(found.failed.empty());
  EXPECT_EQ(found.failed[0].message, "too large");
  EXPECT_NEAR(
      PeakBytes(found, Shape{300, 300, 300}) / KnownBytes({300, 300, 300}), 1,
      0.02);
}

TEST(ExploreFootprint, EndsWhereNothingRuns) {
  int tried = 0;
  ExpectError(
      [&] {
        ExploreFootprint({.axes = kVolume}, [&](const Shape&) -> std::int64_t {
          throw Error(ErrorCode::kUnsupported,
                      ++tried == 1 ? "first" : "later");
        });
      },
      ErrorCode::kUnsupported, "first");
  EXPECT_EQ(tried, 3);
}

TEST(ExploreFootprint, RefusesTooFewRuns) {
  ExpectError([] { ExploreFootprint({.axes = kVolume, .runs = 3}, {}); },
              ErrorCode::kInvalidArgument,
              "a footprint of 3 runs, expected at least 4");
}

}  // namespace
}  // namespace foretell::plan
