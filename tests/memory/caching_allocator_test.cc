#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "foretell/error.h"
#include "foretell/memory.h"
#include "src/core/units.h"

namespace foretell {
namespace {

using testing::HasSubstr;
using Kind = AllocationEvent::Kind;

AllocationEvent Take(std::int64_t id, std::int64_t bytes) {
  return {Kind::kAllocate, id, bytes};
}

AllocationEvent Give(std::int64_t id) { return {Kind::kFree, id}; }

AllocatorState LastState(const std::vector<AllocationEvent>& events,
                         const CachingAllocatorConfig& config = {}) {
  return SimulateCachingAllocator(events, config).timeline.back();
}

std::int64_t ReservedForOne(std::int64_t bytes) {
  return LastState({Take(0, bytes)}).reserved;
}

TEST(CachingAllocator, TakesTheSegmentThatTheRequestsSizeDemands) {
  EXPECT_EQ(ReservedForOne(1), 2 * kMiB);
  EXPECT_EQ(ReservedForOne(512), 2 * kMiB);
  EXPECT_EQ(ReservedForOne(kMiB), 2 * kMiB);
  EXPECT_EQ(ReservedForOne(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(ReservedForOne(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(ReservedForOne(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(ReservedForOne(10 * kMiB + 512), 12 * kMiB);
  EXPECT_EQ(ReservedForOne(100 * kMiB + 1), 102 * kMiB);
}

TEST(CachingAllocator, KeepsTheSegmentsOfStreamsApart) {
  AllocationEvent gathered = Take(1, 24 * kMiB);
  gathered.stream = Stream::kGather;
  const std::vector<AllocationEvent> events = {Take(0, 24 * kMiB), Give(0),
                                               gathered};
  EXPECT_EQ(LastState(events).reserved, 48 * kMiB);
  // Each finds its own again.
  std::vector<AllocationEvent> again = events;
  again.insert(again.end(), {Give(1), Take(2, 24 * kMiB), gathered});
  EXPECT_EQ(LastState(again).reserved, 48 * kMiB);
  // Any stream gives back what another one asks for.
  EXPECT_EQ(LastState(events, {.device_limit_bytes = 24 * kMiB}).reserved,
            24 * kMiB);
}

TEST(CachingAllocator, NeverGivesBackThePoolOfCudaGraphs) {
  AllocationEvent recorded = Take(0, 24 * kMiB);
  recorded.stream = Stream::kRecord;
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector<AllocationEvent>{recorded, Give(0), Take(1, 24 * kMiB)},
      {.device_limit_bytes = 40 * kMiB});
  EXPECT_TRUE(replay.out_of_memory.has_value());
}

TEST(CachingAllocator, LetsADroppedBlockServeNothingBeforeItIsFreed) {
  const AllocationEvent drop = {Kind::kDrop, 0};
  const AllocatorState dropped = LastState({Take(0, 24 * kMiB), drop});
  EXPECT_EQ(dropped.allocated, 0);
  EXPECT_EQ(dropped.requested, 0);
  const std::vector<AllocationEvent> waiting = {Take(0, 24 * kMiB), drop,
                                                Take(1, 24 * kMiB)};
  EXPECT_EQ(LastState(waiting).allocated, 24 * kMiB);
  EXPECT_EQ(LastState(waiting).reserved, 48 * kMiB);
  EXPECT_EQ(LastState({Take(0, 24 * kMiB), drop, Give(0), Take(1, 24 * kMiB)})
                .reserved,
            24 * kMiB);
  // At the limit the allocator waits itself.
  EXPECT_EQ(LastState(waiting, {.device_limit_bytes = 24 * kMiB}).reserved,
            24 * kMiB);
}

TEST(CachingAllocator, RoundsTheRequestBeforeChoosingItsPool) {
  // 1 MiB - 1 B rounds up to 1 MiB: small. 1 MiB + 1 B does not fit in it.
  EXPECT_EQ(ReservedForOne(kMiB - 1), 2 * kMiB);
  EXPECT_EQ(ReservedForOne(kMiB + 1), 20 * kMiB);
  // 10 MiB - 1 B rounds up to 10 MiB and takes a segment of its own.
  EXPECT_EQ(ReservedForOne(10 * kMiB - 1), 10 * kMiB);
}

TEST(CachingAllocator, CountsRequestedAllocatedAndReservedBytesApart) {
  const AllocatorState state = LastState({Take(0, 100), Take(1, 513)});
  EXPECT_EQ(state.requested, 613);
  EXPECT_EQ(state.allocated, 512 + 1024);
  EXPECT_EQ(state.reserved, 2 * kMiB);
}

TEST(CachingAllocator, SharesASmallSegment) {
  EXPECT_EQ(LastState({Take(0, kMiB), Take(1, kMiB)}).reserved, 2 * kMiB);
  EXPECT_EQ(LastState({Take(0, kMiB), Take(1, kMiB), Take(2, 1)}).reserved,
            4 * kMiB);
}

TEST(CachingAllocator, SharesALargeSegmentBelowTenMebibytes) {
  EXPECT_EQ(LastState({Take(0, 8 * kMiB), Take(1, 9 * kMiB)}).reserved,
            20 * kMiB);
  EXPECT_EQ(LastState({Take(0, 8 * kMiB), Take(1, 9 * kMiB), Take(2, 4 * kMiB)})
                .reserved,
            40 * kMiB);
}

TEST(CachingAllocator, KeepsTheUnsplitRestOfALargeBlock) {
  // 9.5 + 9.5 MiB leave exactly 1 MiB, which is not more than 1 MiB: the
  // second block takes it along.
  const std::int64_t bytes = 9 * kMiB + 512 * kKiB;
  const AllocatorState state = LastState({Take(0, bytes), Take(1, bytes)});
  EXPECT_EQ(state.requested, 19 * kMiB);
  EXPECT_EQ(state.allocated, 20 * kMiB);
  EXPECT_EQ(state.reserved, 20 * kMiB);
}

TEST(CachingAllocator, SplitsOffMoreThanAMebibyteOfALargeBlock) {
  const std::int64_t first = 9 * kMiB;
  const std::int64_t second = 10 * kMiB - 512;
  const AllocatorState state = LastState({Take(0, first), Take(1, second)});
  EXPECT_EQ(state.allocated, 19 * kMiB - 512);
}

TEST(CachingAllocator, NeverServesALargeRequestFromTheSmallPool) {
  const AllocatorState state = LastState(
      {Take(0, kMiB), Take(1, kMiB), Give(0), Give(1), Take(2, kMiB + 512)});
  EXPECT_EQ(state.reserved, 22 * kMiB);
}

TEST(CachingAllocator, KeepsFreedSegments) {
  const AllocatorState state = LastState({Take(0, 64 * kMiB), Give(0)});
  EXPECT_EQ(state.allocated, 0);
  EXPECT_EQ(state.reserved, 64 * kMiB);
}

TEST(CachingAllocator, ReusesAndSplitsAFreedSegment) {
  const AllocatorState state = LastState(
      {Take(0, 64 * kMiB), Give(0), Take(1, 24 * kMiB), Take(2, 40 * kMiB)});
  EXPECT_EQ(state.allocated, 64 * kMiB);
  EXPECT_EQ(state.reserved, 64 * kMiB);
}

TEST(CachingAllocator, MergesAFreedBlockWithBothNeighbours) {
  // Thirds of a segment, freed in an order in which the last one is between
  // two free ones.
  const AllocatorState state = LastState(
      {Take(9, 60 * kMiB), Give(9), Take(0, 20 * kMiB), Take(1, 20 * kMiB),
       Take(2, 20 * kMiB), Give(0), Give(2), Give(1), Take(3, 60 * kMiB)});
  EXPECT_EQ(state.reserved, 60 * kMiB);
}

TEST(CachingAllocator, DoesNotMergeAcrossSegments) {
  const AllocatorState state =
      LastState({Take(0, 20 * kMiB), Take(1, 20 * kMiB), Give(0), Give(1),
                 Take(2, 40 * kMiB)});
  EXPECT_EQ(state.reserved, 80 * kMiB);
}

TEST(CachingAllocator, PrefersTheSmallestBlockThatFits) {
  // Free: 40 and 24 MiB. The 22 MiB request must take the smaller one, or the
  // 40 MiB request that follows needs a new segment.
  const AllocatorState state =
      LastState({Take(0, 40 * kMiB), Take(1, 24 * kMiB), Give(0), Give(1),
                 Take(2, 22 * kMiB), Take(3, 40 * kMiB)});
  EXPECT_EQ(state.reserved, 64 * kMiB);
}

TEST(CachingAllocator, PrefersTheLowestAddressAmongEqualBlocks) {
  // Free: all of the first segment (20 MiB) and the first 20 of the second
  // one's 30 MiB. The next request takes the former; so no segment is entirely
  // free and the last request finds no room.
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMiB};
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 20 * kMiB), Take(1, 30 * kMiB), Give(1),
                  Take(2, 20 * kMiB), Take(3, 10 * kMiB), Give(0), Give(2),
                  Take(4, 20 * kMiB), Take(5, 22 * kMiB)},
      config);
  ASSERT_TRUE(replay.out_of_memory);
  EXPECT_EQ(replay.out_of_memory->event, 8u);
}

TEST(CachingAllocator, LeavesBlocksAboveTheSplitLimitWhole) {
  const CachingAllocatorConfig config = {.max_split_size_bytes = 32 * kMiB};
  // 64 MiB free. 20 MiB may not break it up; 50 MiB may take it whole, for it
  // wastes less than 20 MiB; 40 MiB may not.
  const std::vector<AllocationEvent> freed = {Take(0, 64 * kMiB), Give(0)};
  std::vector<AllocationEvent> events = freed;
  events.push_back(Take(1, 20 * kMiB));
  EXPECT_EQ(LastState(events, config).reserved, 84 * kMiB);
  events.back() = Take(1, 50 * kMiB);
  EXPECT_EQ(LastState(events, config).reserved, 64 * kMiB);
  EXPECT_EQ(LastState(events, config).allocated, 64 * kMiB);
  events.back() = Take(1, 40 * kMiB);
  EXPECT_EQ(LastState(events, config).reserved, 104 * kMiB);
}

TEST(CachingAllocator, ZeroBytesOccupyNothing) {
  const AllocatorReplay replay =
      SimulateCachingAllocator(std::vector{Take(0, 0), Give(0), Take(0, 0)});
  EXPECT_EQ(replay.peak_reserved, 0);
  EXPECT_EQ(replay.timeline.size(), 3u);
}

TEST(CachingAllocator, ReportsPeaksAndWhereTheyAre) {
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 30 * kMiB), Take(1, 12 * kMiB), Give(0),
                  Take(2, 12 * kMiB), Give(1), Give(2)});
  EXPECT_EQ(replay.peak_allocated, 42 * kMiB);
  EXPECT_EQ(replay.peak_requested, 42 * kMiB);
  EXPECT_EQ(replay.peak_reserved, 42 * kMiB);
  EXPECT_EQ(replay.peak_event, 1u);
  EXPECT_EQ(replay.timeline.back().allocated, 0);
  EXPECT_EQ(replay.timeline.back().reserved, 42 * kMiB);
}

TEST(CachingAllocator, HasNoPeaksWithoutEvents) {
  const AllocatorReplay replay = SimulateCachingAllocator({});
  EXPECT_EQ(replay.peak_reserved, 0);
  EXPECT_TRUE(replay.timeline.empty());
}

TEST(CachingAllocator, GivesCachedSegmentsBackBeforeItRunsOutOfMemory) {
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMiB};
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 40 * kMiB), Give(0), Take(1, 50 * kMiB)}, config);
  EXPECT_FALSE(replay.out_of_memory);
  EXPECT_EQ(replay.timeline.back().reserved, 50 * kMiB);
  EXPECT_EQ(replay.peak_reserved, 50 * kMiB);
}

TEST(CachingAllocator, CannotGiveBackASegmentThatIsPartlyInUse) {
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMiB};
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 40 * kMiB), Give(0), Take(1, 12 * kMiB),
                  Take(2, 30 * kMiB)},
      config);
  ASSERT_TRUE(replay.out_of_memory);
  EXPECT_EQ(replay.out_of_memory->event, 3u);
  EXPECT_EQ(replay.out_of_memory->requested_bytes, 30 * kMiB);
  EXPECT_EQ(replay.out_of_memory->before.allocated, 12 * kMiB);
  EXPECT_EQ(replay.out_of_memory->before.reserved, 40 * kMiB);
  EXPECT_EQ(replay.timeline.size(), 3u);
}

TEST(CachingAllocator, FillsTheDeviceToTheLastByteOfItsLimit) {
  const CachingAllocatorConfig exact = {.device_limit_bytes = 24 * kMiB};
  const CachingAllocatorConfig less = {.device_limit_bytes = 24 * kMiB - 1};
  const std::vector<AllocationEvent> events = {Take(0, 24 * kMiB)};
  EXPECT_FALSE(SimulateCachingAllocator(events, exact).out_of_memory);
  EXPECT_TRUE(SimulateCachingAllocator(events, less).out_of_memory);
}

TEST(CachingAllocator, LeavesOutAnOptionalRequestThatDoesNotFit) {
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMiB};
  AllocationEvent workspace = Take(1, 30 * kMiB);
  workspace.optional = true;
  const std::vector<AllocationEvent> events = {Take(0, 40 * kMiB), workspace,
                                               Give(1), Give(0), workspace};
  const AllocatorReplay replay = SimulateCachingAllocator(events, config);
  EXPECT_FALSE(replay.out_of_memory);
  EXPECT_EQ(replay.refused, std::vector<std::size_t>{1});
  EXPECT_EQ(replay.timeline[1].allocated, 40 * kMiB);
  EXPECT_EQ(replay.timeline[3].allocated, 0);
  // The second time the freed segment holds it.
  EXPECT_EQ(replay.timeline[4].allocated, 30 * kMiB);
  EXPECT_EQ(replay.peak_reserved, 40 * kMiB);
  EXPECT_TRUE(SimulateCachingAllocator(events).refused.empty());
}

TEST(CachingAllocator, IgnoresWhatTheAllocationsAreCalled) {
  const std::vector<AllocationEvent> events = {
      Take(0, 3 * kMiB), Take(1, 700), Give(0), Take(2, 2 * kMiB), Give(1)};
  std::vector<AllocationEvent> renamed = events;
  for (AllocationEvent& event : renamed) event.id = 1000 - 7 * event.id;
  EXPECT_EQ(SimulateCachingAllocator(events).timeline,
            SimulateCachingAllocator(renamed).timeline);
}

void ExpectRefused(const std::vector<AllocationEvent>& events,
                   const std::string& message) {
  try {
    SimulateCachingAllocator(events);
    FAIL() << "accepted; expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(CachingAllocator, RefusesInvalidEventsByIndex) {
  ExpectRefused({Take(0, 1), Give(1)}, "event 1: id 1 is not live");
  ExpectRefused({Take(0, 1), Give(0), Give(0)}, "event 2: id 0 is not live");
  ExpectRefused({Take(5, 1), Take(5, 1)}, "event 1: id 5 is already live");
  ExpectRefused({Take(0, 0), Take(0, 0)}, "event 1: id 0 is already live");
  ExpectRefused({Take(0, -1)}, "event 0: size is -1 bytes, expected at least");
}

TEST(CachingAllocator, RefusesMoreBytesThanItCanCount) {
  const std::int64_t huge = std::int64_t{1} << 59;
  ExpectRefused({Take(0, huge), Take(1, huge)}, "event 1: a request of");
  ExpectRefused({Take(0, kUnlimitedBytes)}, "exceeds 2^60 bytes");
}

TEST(CachingAllocator, ReplaysAHundredThousandEventsInLinearithmicTime) {
  // Many free blocks of different sizes: a scan per request would take
  // minutes.
  std::vector<AllocationEvent> events;
  constexpr int kBlocks = 100'000;
  for (int i = 0; i < kBlocks; ++i)
    events.push_back(Take(i, 512 + 512 * (i % 9)));
  for (int i = 0; i < kBlocks; i += 2) events.push_back(Give(i));
  for (int i = 0; i < kBlocks; i += 2) events.push_back(Take(i, 512));
  const AllocatorReplay replay = SimulateCachingAllocator(events);
  EXPECT_EQ(replay.timeline.size(), events.size());
  EXPECT_EQ(
      replay.timeline.back().requested, 50'000 * 512 + 512 * [] {
        std::int64_t units = 0;
        for (int i = 1; i < kBlocks; i += 2) units += 1 + i % 9;
        return units;
      }());
}

}  // namespace
}  // namespace foretell
