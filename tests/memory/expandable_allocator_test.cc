#include <gtest/gtest.h>

#include <vector>

#include "foretell/memory.h"
#include "src/core/units.h"

namespace foretell {
namespace {

using Kind = AllocationEvent::Kind;

AllocationEvent TakeMib(std::int64_t id, std::int64_t mib) {
  return {Kind::kAllocate, id, mib * kMiB};
}

AllocationEvent GiveBack(std::int64_t id) { return {Kind::kFree, id}; }

AllocatorReplay Expand(const std::vector<AllocationEvent>& events,
                       std::int64_t limit_mib = 0) {
  CachingAllocatorConfig config{.expandable_segments = true};
  if (limit_mib > 0) config.device_limit_bytes = limit_mib * kMiB;
  return SimulateCachingAllocator(events, config);
}

std::int64_t ReservedMib(const std::vector<AllocationEvent>& events) {
  return Expand(events).timeline.back().reserved / kMiB;
}

TEST(ExpandableAllocator, MapsPagesOfThePoolThatTheRequestsSizeDemands) {
  EXPECT_EQ(ReservedMib({{Kind::kAllocate, 0, 1}}), 2);
  EXPECT_EQ(ReservedMib({TakeMib(0, 1), TakeMib(1, 1), TakeMib(2, 1)}), 4);
  EXPECT_EQ(ReservedMib({TakeMib(0, 2)}), 20);
  EXPECT_EQ(ReservedMib({TakeMib(0, 25)}), 40);
  EXPECT_EQ(ReservedMib({TakeMib(0, 25), TakeMib(1, 15)}), 40);
  EXPECT_EQ(ReservedMib({TakeMib(0, 25), TakeMib(1, 1), TakeMib(2, 16)}), 62);
}

TEST(ExpandableAllocator, KeepsTheSegmentsOfStreamsApart) {
  AllocationEvent scattered = TakeMib(1, 30);
  scattered.stream = Stream::kScatter;
  // Two pages of 20 MiB for each.
  EXPECT_EQ(ReservedMib({TakeMib(0, 30), GiveBack(0), scattered}), 80);
}

TEST(ExpandableAllocator, LosesNothingBetweenSegments) {
  const std::vector<AllocationEvent> events = {
      TakeMib(0, 30), TakeMib(1, 30), GiveBack(0), GiveBack(1), TakeMib(2, 60)};
  EXPECT_EQ(ReservedMib(events), 60);
  EXPECT_EQ(SimulateCachingAllocator(events).peak_reserved, 120 * kMiB);
}

TEST(ExpandableAllocator, SplitsWhatAPlainSegmentWouldWaste) {
  // 9.5 + 9.5 MiB leave 1 MiB, which a plain segment gives to the second.
  const std::int64_t bytes = 9 * kMiB + 512 * kKiB;
  const AllocatorReplay replay =
      Expand({{Kind::kAllocate, 0, bytes}, {Kind::kAllocate, 1, bytes}});
  EXPECT_EQ(replay.peak_allocated, 19 * kMiB);
  EXPECT_EQ(replay.peak_reserved, 20 * kMiB);
}

TEST(ExpandableAllocator, LeavesTheBlockThatCanGrowForLater) {
  // [0,40) is free, 15 MiB behind 85 too. Best fit by size alone would put 10
  // MiB there and keep [0,40) whole for the last request: 100 MiB.
  EXPECT_EQ(ReservedMib({TakeMib(0, 40), TakeMib(1, 20), TakeMib(2, 25),
                         GiveBack(0), TakeMib(3, 10), TakeMib(4, 40)}),
            140);
}

TEST(ExpandableAllocator, GrowsFromTheFreeEndOfWhatIsMapped) {
  // 25 of 40 MiB are taken: 35 more need 20 only.
  EXPECT_EQ(ReservedMib({TakeMib(0, 25), TakeMib(1, 35)}), 60);
}

TEST(ExpandableAllocator, UnmapsFreePagesBeforeItRefuses) {
  // 41 MiB do not fit into the free 40; beside 100 there is room for 20.
  const std::vector<AllocationEvent> events = {TakeMib(0, 40), TakeMib(1, 20),
                                               TakeMib(2, 40), GiveBack(0),
                                               TakeMib(3, 41)};
  const AllocatorReplay fits = Expand(events, 120);
  ASSERT_FALSE(fits.out_of_memory);
  EXPECT_EQ(fits.timeline.back().reserved, 120 * kMiB);
  const AllocatorReplay refused = Expand(events, 118);
  ASSERT_TRUE(refused.out_of_memory);
  EXPECT_EQ(refused.out_of_memory->event, 4u);
  EXPECT_EQ(refused.out_of_memory->before.reserved, 60 * kMiB);
}

TEST(ExpandableAllocator, NeverUnmapsThePoolOfCudaGraphs) {
  const auto is_refused_behind = [](Stream stream) {
    AllocationEvent freed = TakeMib(0, 40);
    freed.stream = stream;
    return Expand({freed, GiveBack(0), TakeMib(1, 41)}, 60)
        .out_of_memory.has_value();
  };
  EXPECT_FALSE(is_refused_behind(Stream::kScatter));
  EXPECT_TRUE(is_refused_behind(Stream::kRecord));
}

TEST(ExpandableAllocator, FillsTheHoleThatUnmappingLeft) {
  // [10,60) is free; its whole pages, [20,60), are given back for 55 MiB at the
  // end. 27 MiB then begin at 10 and need one page; at the end, where 5 MiB are
  // free, they would need two, which is more than the limit.
  const AllocatorReplay replay =
      Expand({TakeMib(0, 10), TakeMib(1, 50), TakeMib(2, 20), GiveBack(1),
              TakeMib(3, 55), TakeMib(4, 27)},
             130);
  ASSERT_FALSE(replay.out_of_memory);
  EXPECT_EQ(replay.timeline[4].reserved, 100 * kMiB);
  EXPECT_EQ(replay.timeline[5].reserved, 120 * kMiB);
}

TEST(ExpandableAllocator, ComesBackToNothingTaken) {
  const AllocatorReplay replay =
      Expand({TakeMib(0, 3), TakeMib(1, 1), TakeMib(2, 50), GiveBack(1),
              GiveBack(0), GiveBack(2)});
  EXPECT_EQ(replay.timeline.back().allocated, 0);
  EXPECT_EQ(replay.timeline.back().requested, 0);
  EXPECT_EQ(replay.peak_allocated, 54 * kMiB);
}

}  // namespace
}  // namespace foretell
