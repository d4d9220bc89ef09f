#include "datasets/views/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "expect_error.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::ToyPoint;
using testing::ElementsAre;

/// 100 models of four families at two batches.
std::vector<StoredPoint> Points() {
  std::vector<StoredPoint> points;
  for (int i = 0; i < 100; ++i) {
    for (const std::int64_t batch : {1, 8}) {
      StoredPoint stored{.id = std::ssize(points) + 1,
                         .point = ToyPoint("m" + std::to_string(i), batch)};
      stored.graph = 1;
      stored.point.family = std::string(1, static_cast<char>('a' + i % 4));
      points.push_back(stored);
    }
  }
  return points;
}

std::map<std::string, std::int64_t> Sizes(
    const std::map<RowId, std::string>& parts) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [point, part] : parts) ++sizes[part];
  return sizes;
}

TEST(MakeSplit, DividesSeventyFifteenFifteen) {
  for (const SplitKind kind : {SplitKind::kRandom, SplitKind::kConfiguration}) {
    auto sizes = Sizes(MakeSplit(Points(), kind, 0));
    EXPECT_EQ(sizes["train"], 140);
    EXPECT_EQ(sizes["validation"], 30);
    EXPECT_EQ(sizes["test"], 30);
  }
}

TEST(MakeSplit, ByConfigurationKeepsBatchesTogether) {
  const std::vector<StoredPoint> points = Points();
  auto parts = MakeSplit(points, SplitKind::kConfiguration, 0);
  std::map<std::string, std::set<std::string>> parts_of;
  for (const StoredPoint& stored : points) {
    parts_of[stored.point.model].insert(parts[stored.id]);
  }
  for (const auto& [model, set] : parts_of) EXPECT_EQ(set.size(), 1U) << model;
}

TEST(MakeSplit, ByPointSeparatesSomeBatches) {
  const std::vector<StoredPoint> points = Points();
  auto parts = MakeSplit(points, SplitKind::kRandom, 0);
  std::int64_t separated = 0;
  for (std::size_t i = 0; i < points.size(); i += 2) {
    if (parts[points[i].id] != parts[points[i + 1].id]) ++separated;
  }
  EXPECT_GT(separated, 20);
}

TEST(MakeSplit, LeavesOneFamilyOut) {
  const std::vector<StoredPoint> points = Points();
  auto parts = MakeSplit(points, SplitKind::kFamily, 0, "b");
  for (const StoredPoint& stored : points) {
    EXPECT_EQ(parts[stored.id] == "test", stored.point.family == "b");
  }
  auto sizes = Sizes(parts);
  EXPECT_EQ(sizes["test"], 50);
  EXPECT_NEAR(static_cast<double>(sizes["train"]), 150 * 0.70 / 0.85, 2);
}

TEST(MakeSplit, DependsOnTheSeedNotOnTheRows) {
  std::vector<StoredPoint> points = Points();
  const auto parts = MakeSplit(points, SplitKind::kRandom, 5);
  std::mt19937 random(1);
  std::shuffle(points.begin(), points.end(), random);
  EXPECT_EQ(MakeSplit(points, SplitKind::kRandom, 5), parts);
  EXPECT_NE(MakeSplit(points, SplitKind::kRandom, 6), parts);
}

TEST(MakeSplit, LeavesPointsWithoutAGraphOut) {
  std::vector<StoredPoint> points = Points();
  points[0].graph = 0;
  EXPECT_FALSE(MakeSplit(points, SplitKind::kRandom, 0).contains(1));
}

TEST(MakeSplit, NamesTheFamiliesThereAre) {
  ExpectError(ErrorCode::kNotFound, "no family 'x'; there are: a, b, c, d",
              [] { MakeSplit(Points(), SplitKind::kFamily, 0, "x"); });
  EXPECT_THAT(FamiliesOf(Points()), ElementsAre("a", "b", "c", "d"));
}

}  // namespace
}  // namespace foretell::dataset
