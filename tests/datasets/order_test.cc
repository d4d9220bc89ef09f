#include "datasets/collect/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::ToyPoint;

/// 300 points of "large" and 60 of "small", at two batches; each also trained.
std::vector<Point> ManyPoints() {
  std::vector<Point> points;
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    for (const auto& [family, models] :
         {std::pair("large", 150), std::pair("small", 30)}) {
      for (int i = 0; i < models; ++i) {
        for (const std::int64_t batch : {1, 32}) {
          Point point = ToyPoint(family + std::to_string(i), batch);
          point.family = family;
          point.mode = mode;
          points.push_back(point);
        }
      }
    }
  }
  return points;
}

std::vector<std::string> Names(const std::vector<Point>& points,
                               std::uint64_t seed) {
  std::vector<std::string> names;
  for (const std::size_t index : SamplingOrder(points, seed)) {
    names.push_back(ToString(points[index]));
  }
  return names;
}

TEST(SamplingOrder, HasEveryPointOnce) {
  const std::vector<Point> points = ManyPoints();
  std::vector<std::size_t> order = SamplingOrder(points, 0);
  std::ranges::sort(order);
  std::vector<std::size_t> all(points.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(SamplingOrder, PutsInferenceFirst) {
  const std::vector<Point> points = ManyPoints();
  const std::vector<std::size_t> order = SamplingOrder(points, 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(points[order[i]].mode == Mode::kInference, i < 360) << i;
  }
}

TEST(SamplingOrder, IsAFairSampleUpToAnyPoint) {
  const std::vector<Point> points = ManyPoints();
  const std::vector<std::size_t> order = SamplingOrder(points, 0);
  std::map<std::pair<std::string, std::int64_t>, double> seen;
  for (std::size_t k = 0; k < 360; ++k) {
    const Point& point = points[order[k]];
    ++seen[{point.family, point.batch}];
    const double share = static_cast<double>(k + 1) / 360;
    for (const std::int64_t batch : {1, 32}) {
      EXPECT_NEAR((seen[{"large", batch}]), share * 150, 2.0) << k;
      EXPECT_NEAR((seen[{"small", batch}]), share * 30, 2.0) << k;
    }
  }
}

TEST(SamplingOrder, DependsOnThePointsAndTheSeedAlone) {
  std::vector<Point> points = ManyPoints();
  const std::vector<std::string> names = Names(points, 0);
  std::mt19937 random(1);
  std::shuffle(points.begin(), points.end(), random);
  EXPECT_EQ(Names(points, 0), names);
  EXPECT_NE(Names(points, 1), names);
}

TEST(SamplingOrder, IsFixedForEver) {
  const std::vector<Point> points = {ToyPoint("a"), ToyPoint("b"),
                                     ToyPoint("c"), ToyPoint("d"),
                                     ToyPoint("e")};
  std::string order;
  for (const std::size_t index : SamplingOrder(points, 0)) {
    order += points[index].model;
  }
  EXPECT_EQ(order, "cdeab");
}

TEST(UnitHash, IsSpreadEvenly) {
  std::vector<int> counts(10);
  for (int i = 0; i < 10'000; ++i) {
    const double value = UnitHash("name" + std::to_string(i), 3);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++counts[static_cast<std::size_t>(value * 10)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 120);
}

}  // namespace
}  // namespace foretell::dataset
