#include "src/pictures/batch_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "tests/pictures/toy_step.h"

namespace foretell::pictures {
namespace {

using testing::ElementsAre;

/// A step of so many GiB.
Prediction OfGiB(double gib) {
  Prediction prediction{.device = ToyDevice().name};
  prediction[Target::kMemory] = {.value = 1024 * gib,
                                 .interval = {1024 * gib, 1024 * gib}};
  return prediction;
}

std::vector<std::int64_t> BatchesOf(const BatchSweep& sweep) {
  std::vector<std::int64_t> batches;
  for (const BatchPoint& point : sweep.points) batches.push_back(point.batch);
  return batches;
}

TEST(SweepBatches, EndsBeyondTheDevice) {
  const auto predict = [](std::int64_t batch) {
    return OfGiB(static_cast<double>(batch));
  };
  const BatchSweep sweep = SweepBatches(predict, ToyDevice(), /*own=*/6);
  EXPECT_THAT(BatchesOf(sweep), ElementsAre(1, 2, 4, 6, 8, 16, 32, 64));
  EXPECT_EQ(sweep.ended, "");
}

TEST(SweepBatches, ShowsItsOwnBatchWhereThatIsBeyond) {
  const auto predict = [](std::int64_t batch) {
    return OfGiB(static_cast<double>(batch));
  };
  EXPECT_EQ(BatchesOf(SweepBatches(predict, ToyDevice(), 100)).back(), 100);
}

TEST(SweepBatches, SaysWhyABatchCannotBe) {
  const auto predict = [](std::int64_t batch) {
    if (batch > 2) throw Error(ErrorCode::kInvalidArgument, "batch is 2");
    return OfGiB(1);
  };
  const BatchSweep sweep = SweepBatches(predict, ToyDevice(), 2);
  EXPECT_THAT(BatchesOf(sweep), ElementsAre(1, 2));
  EXPECT_EQ(sweep.ended, "batch is 2");
}

TEST(SweepBatches, ShowsItsOwnBatchWhereThereIsNoOther) {
  const auto predict = [](std::int64_t batch) {
    if (batch != 6) throw Error(ErrorCode::kInvalidArgument, "batch is 6");
    return OfGiB(1);
  };
  const BatchSweep sweep = SweepBatches(predict, ToyDevice(), 6);
  EXPECT_THAT(BatchesOf(sweep), ElementsAre(6));
  EXPECT_EQ(sweep.ended, "batch is 6");
}

TEST(BatchPointsToJson, JudgesEveryPlace) {
  const auto json = BatchPointsToJson({{4, OfGiB(8)}}, ToyDevice());
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["batch"], 4);
  EXPECT_EQ(json[0]["memory"]["value"], 8192);
  EXPECT_EQ(json[0]["places"][0]["profile"], "1g.5gb");
  EXPECT_EQ(json[0]["places"][0]["fit"], "does not fit");
  EXPECT_EQ(json[0]["places"].back()["profile"], "");
  EXPECT_EQ(json[0]["places"].back()["fit"], "fits");
}

}  // namespace
}  // namespace foretell::pictures
