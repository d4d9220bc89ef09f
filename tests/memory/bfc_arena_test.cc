#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "foretell/memory.h"
#include "src/core/units.h"
#include "src/memory/planned_schedule.h"

namespace foretell {
namespace {

using Kind = AllocationEvent::Kind;

AllocationEvent Request(std::int64_t id, std::int64_t bytes,
                        AllocationPlace place = AllocationPlace::kPool) {
  return {.kind = Kind::kAllocate, .id = id, .bytes = bytes, .place = place};
}

AllocationEvent Return(std::int64_t id) {
  return {.kind = Kind::kFree, .id = id};
}

AllocatorReplay Replay(const std::vector<AllocationEvent>& events,
                       bool exact = false,
                       std::int64_t limit = kUnlimitedBytes) {
  return SimulateCachingAllocator(
      events, {.device_limit_bytes = limit,
               .bfc_arena = BfcArenaConfig{.exact = exact}});
}

/// Runs chains of tensors, each given back once the next one is there, and
/// returns the MiB of all regions after each request.
std::vector<std::int64_t> ReservedByChains(
    const std::vector<std::vector<std::int64_t>>& chains) {
  std::vector<AllocationEvent> events;
  std::vector<std::size_t> requests;
  std::int64_t id = 0;
  for (const std::vector<std::int64_t>& sizes : chains) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      requests.push_back(events.size());
      events.push_back(Request(id, sizes[i]));
      if (i > 0) events.push_back(Return(id - 1));
      ++id;
    }
    events.push_back(Return(id - 1));
  }
  const AllocatorReplay replay = Replay(events);
  std::vector<std::int64_t> reserved;
  for (const std::size_t i : requests) {
    reserved.push_back(replay.timeline[i].reserved / kMiB);
  }
  return reserved;
}

/// Printed by "Extended allocation by" of onnxruntime 1.32.0's CPU provider at
/// severity 0, for MatMul, Relu, Softmax six times with widths 64, 145, 226,
/// 256, 337 and 418 and 1,000 rows, then 3,000. Relu and Softmax overwrite the
/// product, except for the network's result, which is the seventh tensor.
TEST(BfcArena, ExtendsWhereOnnxRuntimeDoes) {
  const std::vector<std::int64_t> small = {256000,  580000,  904000, 1024000,
                                           1348000, 1672000, 1672000};
  std::vector<std::int64_t> large = small;
  for (std::int64_t& bytes : large) bytes *= 3;
  EXPECT_EQ(ReservedByChains({small}),
            (std::vector<std::int64_t>{1, 1, 3, 3, 3, 7, 7}));
  EXPECT_EQ(ReservedByChains({small, large}),
            (std::vector<std::int64_t>{1, 1, 3, 3, 3, 7, 7,  //
                                       7, 7, 7, 15, 15, 15, 31}));
}

TEST(BfcArena, TakesWhatIsAskedForIfTold) {
  EXPECT_EQ(Replay({Request(0, 1000)}, /*exact=*/true).peak_reserved, 1024);
  EXPECT_EQ(Replay({Request(0, 1000)}).peak_reserved, kMiB);
}

TEST(BfcArena, TakesLessWhereTheDeviceHasLess) {
  // Nine tenths of 4 MiB are too many, of those nine tenths fit.
  const AllocatorReplay replay =
      Replay({Request(0, 3 * kMiB)}, /*exact=*/false, 3500000);
  EXPECT_FALSE(replay.out_of_memory);
  EXPECT_EQ(replay.peak_reserved, 3397632);
  EXPECT_TRUE(Replay({Request(0, 4 * kMiB)}, false, 3500000).out_of_memory);
}

/// Regions grow with those that the device gave, not with those it refused.
TEST(BfcArena, SurvivesWorkspacesThatItRefuses) {
  std::vector<AllocationEvent> events = {Request(0, kMiB)};
  for (std::int64_t id = 1; id <= 100; ++id) {
    events.push_back(Request(id, 16 * kMiB));
    events.back().optional = true;
  }
  events.push_back(Request(101, 2 * kMiB));
  const AllocatorReplay replay = Replay(events, /*exact=*/false, 8 * kMiB);
  EXPECT_FALSE(replay.out_of_memory);
  EXPECT_EQ(replay.refused.size(), 100);
  EXPECT_LE(replay.peak_reserved, 8 * kMiB);
}

/// Regions of 1, 2, 4 and 8 MiB in the log of onnxruntime 1.31.1's CUDA
/// provider for a linear layer, 512 wide, and 1,024 rows: weight, bias, input,
/// product and sum (datasets/labels/h100-sxm5-80gb/onnxruntime.jsonl.gz).
TEST(BfcArena, ServesInitializersLikeTensors) {
  const AllocatorReplay replay =
      Replay({Request(0, kMiB), Request(1, 2048), Request(2, 2 * kMiB),
              Request(3, 2 * kMiB), Request(4, 2 * kMiB)});
  EXPECT_EQ(replay.peak_reserved, 15 * kMiB);
}

TEST(PassPlan, FillsTheGapThatFitsBest) {
  memory::PassPlan plan;
  plan.Allocate(0, 1024);
  plan.Allocate(1, 256);
  plan.Allocate(2, 512);
  plan.Allocate(3, 256);
  plan.Free(0);
  plan.Free(2);
  plan.Allocate(4, 512);   // The second gap.
  plan.Allocate(5, 1000);  // The first.
  EXPECT_EQ(plan.bytes(), 2048);
  plan.Allocate(6, 1);
  EXPECT_EQ(plan.bytes(), 2304);
}

}  // namespace
}  // namespace foretell
