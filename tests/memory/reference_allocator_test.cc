#include "tests/memory/reference_allocator.h"
#include "src/core/units.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace foretell {
namespace {

/// A plausible mix: scalars, small tensors, activations, a few giants, and
/// exact class borders.
std::int64_t RandomBytes(std::mt19937& random) {
  static constexpr std::int64_t kBorders[] = {0,         1,
                                              511,       512,
                                              513,       kMiB,
                                              kMiB + 1,  kMiB + 512,
                                              2 * kMiB,  10 * kMiB - 512,
                                              10 * kMiB, 10 * kMiB + 1,
                                              20 * kMiB, 20 * kMiB + 512};
  const int kind = static_cast<int>(random() % 5);
  if (kind == 0) return kBorders[random() % std::size(kBorders)];
  const std::int64_t largest[] = {2000, kMiB, 12 * kMiB, 64 * kMiB};
  return 1 + static_cast<std::int64_t>(random()) % largest[kind - 1];
}

/// On the stream that computes, mostly.
Stream RandomStream(std::mt19937& random) {
  const auto pick = static_cast<int>(random() % 6);
  return static_cast<Stream>(pick < kNumStreams ? pick : 0);
}

std::vector<AllocationEvent> RandomEvents(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::vector<AllocationEvent> events;
  std::vector<std::int64_t> live;
  for (int i = 0; i < count; ++i) {
    const bool release = !live.empty() && random() % 100 < 45;
    if (!release) {
      events.push_back({.kind = AllocationEvent::Kind::kAllocate,
                        .id = i,
                        .bytes = RandomBytes(random),
                        .stream = RandomStream(random)});
      live.push_back(i);
      continue;
    }
    const std::size_t pick = random() % live.size();
    events.push_back({AllocationEvent::Kind::kFree, live[pick]});
    live.erase(live.begin() + static_cast<long>(pick));
  }
  return events;
}

void ExpectSameStates(const std::vector<AllocationEvent>& events,
                      const CachingAllocatorConfig& config) {
  const AllocatorReplay replay = SimulateCachingAllocator(events, config);
  test::ReferenceAllocator reference(config);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const AllocationEvent& event = events[i];
    bool done = true;
    if (event.kind == AllocationEvent::Kind::kFree) {
      reference.Free(event.id);
    } else {
      done = reference.Allocate(event.id, event.bytes, event.stream);
    }
    if (!done) {
      ASSERT_TRUE(replay.out_of_memory) << "event " << i;
      EXPECT_EQ(replay.out_of_memory->event, i);
      EXPECT_EQ(replay.out_of_memory->before, reference.State());
      return;
    }
    ASSERT_LT(i, replay.timeline.size());
    const AllocatorState state = reference.State();
    ASSERT_EQ(replay.timeline[i].requested, state.requested) << "event " << i;
    ASSERT_EQ(replay.timeline[i].allocated, state.allocated) << "event " << i;
    ASSERT_EQ(replay.timeline[i].reserved, state.reserved) << "event " << i;
  }
  EXPECT_FALSE(replay.out_of_memory);
}

struct Setting {
  std::string name;
  CachingAllocatorConfig config;
};

class CachingAllocatorProperty : public testing::TestWithParam<Setting> {};

TEST_P(CachingAllocatorProperty, AgreesWithTheNaiveReference) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ExpectSameStates(RandomEvents(seed, 400), GetParam().config);
  }
}

TEST_P(CachingAllocatorProperty, NeverReservesLessThanItAllocates) {
  for (unsigned seed = 100; seed < 120; ++seed) {
    const AllocatorReplay replay =
        SimulateCachingAllocator(RandomEvents(seed, 400), GetParam().config);
    for (const AllocatorState& state : replay.timeline) {
      ASSERT_LE(state.requested, state.allocated);
      ASSERT_LE(state.allocated, state.reserved);
      ASSERT_LE(state.reserved, GetParam().config.device_limit_bytes);
    }
    EXPECT_GE(replay.peak_reserved, replay.peak_allocated);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, CachingAllocatorProperty,
    testing::Values(Setting{"Default", {}},
                    Setting{"SplitLimit", {.max_split_size_bytes = 32 * kMiB}},
                    Setting{"SmallDevice", {.device_limit_bytes = 600 * kMiB}},
                    Setting{"RoomyDevice", {.device_limit_bytes = 3000 * kMiB}},
                    Setting{"Both",
                            {.max_split_size_bytes = 24 * kMiB,
                             .device_limit_bytes = 1200 * kMiB}}),
    [](const testing::TestParamInfo<Setting>& setting) {
      return setting.param.name;
    });

}  // namespace
}  // namespace foretell
