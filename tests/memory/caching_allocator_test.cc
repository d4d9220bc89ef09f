#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "foretell/error.h"
#include "foretell/memory.h"

namespace foretell {
namespace {

using testing::HasSubstr;
using Kind = AllocationEvent::Kind;

constexpr std::int64_t kKi = 1 << 10;
constexpr std::int64_t kMi = 1 << 20;

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
  EXPECT_EQ(ReservedForOne(1), 2 * kMi);
  EXPECT_EQ(ReservedForOne(512), 2 * kMi);
  EXPECT_EQ(ReservedForOne(kMi), 2 * kMi);
  EXPECT_EQ(ReservedForOne(kMi + 512), 20 * kMi);
  EXPECT_EQ(ReservedForOne(10 * kMi - 512), 20 * kMi);
  EXPECT_EQ(ReservedForOne(10 * kMi), 10 * kMi);
  EXPECT_EQ(ReservedForOne(10 * kMi + 512), 12 * kMi);
  EXPECT_EQ(ReservedForOne(100 * kMi + 1), 102 * kMi);
}

TEST(CachingAllocator, RoundsTheRequestBeforeChoosingItsPool) {
  // 1 MiB - 1 B rounds up to 1 MiB: small. 1 MiB + 1 B does not fit in it.
  EXPECT_EQ(ReservedForOne(kMi - 1), 2 * kMi);
  EXPECT_EQ(ReservedForOne(kMi + 1), 20 * kMi);
  // 10 MiB - 1 B rounds up to 10 MiB and takes a segment of its own.
  EXPECT_EQ(ReservedForOne(10 * kMi - 1), 10 * kMi);
}

TEST(CachingAllocator, CountsRequestedAllocatedAndReservedBytesApart) {
  const AllocatorState state = LastState({Take(0, 100), Take(1, 513)});
  EXPECT_EQ(state.requested, 613);
  EXPECT_EQ(state.allocated, 512 + 1024);
  EXPECT_EQ(state.reserved, 2 * kMi);
}

TEST(CachingAllocator, SharesASmallSegment) {
  EXPECT_EQ(LastState({Take(0, kMi), Take(1, kMi)}).reserved, 2 * kMi);
  EXPECT_EQ(LastState({Take(0, kMi), Take(1, kMi), Take(2, 1)}).reserved,
            4 * kMi);
}

TEST(CachingAllocator, SharesALargeSegmentBelowTenMebibytes) {
  EXPECT_EQ(LastState({Take(0, 8 * kMi), Take(1, 9 * kMi)}).reserved, 20 * kMi);
  EXPECT_EQ(LastState({Take(0, 8 * kMi), Take(1, 9 * kMi), Take(2, 4 * kMi)})
                .reserved,
            40 * kMi);
}

TEST(CachingAllocator, KeepsTheUnsplitRestOfALargeBlock) {
  // 9.5 + 9.5 MiB leave exactly 1 MiB, which is not more than 1 MiB: the
  // second block takes it along.
  const std::int64_t bytes = 9 * kMi + 512 * kKi;
  const AllocatorState state = LastState({Take(0, bytes), Take(1, bytes)});
  EXPECT_EQ(state.requested, 19 * kMi);
  EXPECT_EQ(state.allocated, 20 * kMi);
  EXPECT_EQ(state.reserved, 20 * kMi);
}

TEST(CachingAllocator, SplitsOffMoreThanAMebibyteOfALargeBlock) {
  const std::int64_t first = 9 * kMi;
  const std::int64_t second = 10 * kMi - 512;
  const AllocatorState state = LastState({Take(0, first), Take(1, second)});
  EXPECT_EQ(state.allocated, 19 * kMi - 512);
}

TEST(CachingAllocator, NeverServesALargeRequestFromTheSmallPool) {
  const AllocatorState state = LastState(
      {Take(0, kMi), Take(1, kMi), Give(0), Give(1), Take(2, kMi + 512)});
  EXPECT_EQ(state.reserved, 22 * kMi);
}

TEST(CachingAllocator, KeepsFreedSegments) {
  const AllocatorState state = LastState({Take(0, 64 * kMi), Give(0)});
  EXPECT_EQ(state.allocated, 0);
  EXPECT_EQ(state.reserved, 64 * kMi);
}

TEST(CachingAllocator, ReusesAndSplitsAFreedSegment) {
  const AllocatorState state = LastState(
      {Take(0, 64 * kMi), Give(0), Take(1, 24 * kMi), Take(2, 40 * kMi)});
  EXPECT_EQ(state.allocated, 64 * kMi);
  EXPECT_EQ(state.reserved, 64 * kMi);
}

TEST(CachingAllocator, MergesAFreedBlockWithBothNeighbours) {
  // Thirds of a segment, freed in an order in which the last one is between
  // two free ones.
  const AllocatorState state = LastState(
      {Take(9, 60 * kMi), Give(9), Take(0, 20 * kMi), Take(1, 20 * kMi),
       Take(2, 20 * kMi), Give(0), Give(2), Give(1), Take(3, 60 * kMi)});
  EXPECT_EQ(state.reserved, 60 * kMi);
}

TEST(CachingAllocator, DoesNotMergeAcrossSegments) {
  const AllocatorState state = LastState({Take(0, 20 * kMi), Take(1, 20 * kMi),
                                          Give(0), Give(1), Take(2, 40 * kMi)});
  EXPECT_EQ(state.reserved, 80 * kMi);
}

TEST(CachingAllocator, PrefersTheSmallestBlockThatFits) {
  // Free: 40 and 24 MiB. The 22 MiB request must take the smaller one, or the
  // 40 MiB request that follows needs a new segment.
  const AllocatorState state =
      LastState({Take(0, 40 * kMi), Take(1, 24 * kMi), Give(0), Give(1),
                 Take(2, 22 * kMi), Take(3, 40 * kMi)});
  EXPECT_EQ(state.reserved, 64 * kMi);
}

TEST(CachingAllocator, PrefersTheLowestAddressAmongEqualBlocks) {
  // Free: all of the first segment (20 MiB) and the first 20 of the second
  // one's 30 MiB. The next request takes the former; so no segment is entirely
  // free and the last request finds no room.
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMi};
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 20 * kMi), Take(1, 30 * kMi), Give(1),
                  Take(2, 20 * kMi), Take(3, 10 * kMi), Give(0), Give(2),
                  Take(4, 20 * kMi), Take(5, 22 * kMi)},
      config);
  ASSERT_TRUE(replay.out_of_memory);
  EXPECT_EQ(replay.out_of_memory->event, 8u);
}

TEST(CachingAllocator, LeavesBlocksAboveTheSplitLimitWhole) {
  const CachingAllocatorConfig config = {.max_split_size_bytes = 32 * kMi};
  // 64 MiB free. 20 MiB may not break it up; 50 MiB may take it whole, for it
  // wastes less than 20 MiB; 40 MiB may not.
  const std::vector<AllocationEvent> freed = {Take(0, 64 * kMi), Give(0)};
  std::vector<AllocationEvent> events = freed;
  events.push_back(Take(1, 20 * kMi));
  EXPECT_EQ(LastState(events, config).reserved, 84 * kMi);
  events.back() = Take(1, 50 * kMi);
  EXPECT_EQ(LastState(events, config).reserved, 64 * kMi);
  EXPECT_EQ(LastState(events, config).allocated, 64 * kMi);
  events.back() = Take(1, 40 * kMi);
  EXPECT_EQ(LastState(events, config).reserved, 104 * kMi);
}

TEST(CachingAllocator, ZeroBytesOccupyNothing) {
  const AllocatorReplay replay =
      SimulateCachingAllocator(std::vector{Take(0, 0), Give(0), Take(0, 0)});
  EXPECT_EQ(replay.peak_reserved, 0);
  EXPECT_EQ(replay.timeline.size(), 3u);
}

TEST(CachingAllocator, ReportsPeaksAndWhereTheyAre) {
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 30 * kMi), Take(1, 12 * kMi), Give(0),
                  Take(2, 12 * kMi), Give(1), Give(2)});
  EXPECT_EQ(replay.peak_allocated, 42 * kMi);
  EXPECT_EQ(replay.peak_requested, 42 * kMi);
  EXPECT_EQ(replay.peak_reserved, 42 * kMi);
  EXPECT_EQ(replay.peak_event, 1u);
  EXPECT_EQ(replay.timeline.back().allocated, 0);
  EXPECT_EQ(replay.timeline.back().reserved, 42 * kMi);
}

TEST(CachingAllocator, HasNoPeaksWithoutEvents) {
  const AllocatorReplay replay = SimulateCachingAllocator({});
  EXPECT_EQ(replay.peak_reserved, 0);
  EXPECT_TRUE(replay.timeline.empty());
}

TEST(CachingAllocator, GivesCachedSegmentsBackBeforeItRunsOutOfMemory) {
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMi};
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 40 * kMi), Give(0), Take(1, 50 * kMi)}, config);
  EXPECT_FALSE(replay.out_of_memory);
  EXPECT_EQ(replay.timeline.back().reserved, 50 * kMi);
  EXPECT_EQ(replay.peak_reserved, 50 * kMi);
}

TEST(CachingAllocator, CannotGiveBackASegmentThatIsPartlyInUse) {
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMi};
  const AllocatorReplay replay = SimulateCachingAllocator(
      std::vector{Take(0, 40 * kMi), Give(0), Take(1, 12 * kMi),
                  Take(2, 30 * kMi)},
      config);
  ASSERT_TRUE(replay.out_of_memory);
  EXPECT_EQ(replay.out_of_memory->event, 3u);
  EXPECT_EQ(replay.out_of_memory->requested_bytes, 30 * kMi);
  EXPECT_EQ(replay.out_of_memory->before.allocated, 12 * kMi);
  EXPECT_EQ(replay.out_of_memory->before.reserved, 40 * kMi);
  EXPECT_EQ(replay.timeline.size(), 3u);
}

TEST(CachingAllocator, FillsTheDeviceToTheLastByteOfItsLimit) {
  const CachingAllocatorConfig exact = {.device_limit_bytes = 24 * kMi};
  const CachingAllocatorConfig less = {.device_limit_bytes = 24 * kMi - 1};
  const std::vector<AllocationEvent> events = {Take(0, 24 * kMi)};
  EXPECT_FALSE(SimulateCachingAllocator(events, exact).out_of_memory);
  EXPECT_TRUE(SimulateCachingAllocator(events, less).out_of_memory);
}

TEST(CachingAllocator, LeavesOutAnOptionalRequestThatDoesNotFit) {
  const CachingAllocatorConfig config = {.device_limit_bytes = 60 * kMi};
  AllocationEvent workspace = Take(1, 30 * kMi);
  workspace.optional = true;
  const std::vector<AllocationEvent> events = {Take(0, 40 * kMi), workspace,
                                               Give(1), Give(0), workspace};
  const AllocatorReplay replay = SimulateCachingAllocator(events, config);
  EXPECT_FALSE(replay.out_of_memory);
  EXPECT_EQ(replay.refused, std::vector<std::size_t>{1});
  EXPECT_EQ(replay.timeline[1].allocated, 40 * kMi);
  EXPECT_EQ(replay.timeline[3].allocated, 0);
  // The second time the freed segment holds it.
  EXPECT_EQ(replay.timeline[4].allocated, 30 * kMi);
  EXPECT_EQ(replay.peak_reserved, 40 * kMi);
  EXPECT_TRUE(SimulateCachingAllocator(events).refused.empty());
}

TEST(CachingAllocator, IgnoresWhatTheAllocationsAreCalled) {
  const std::vector<AllocationEvent> events = {
      Take(0, 3 * kMi), Take(1, 700), Give(0), Take(2, 2 * kMi), Give(1)};
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
