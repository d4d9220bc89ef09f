#include "src/snapshot/recorded_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace foretell::snapshot {
namespace {

using testing::ElementsAre;

RecordedMemory Follow(const std::string& text) {
  const MemorySnapshot snapshot = ParseSnapshot(text, "s.json");
  const StackWords words(snapshot);
  return FollowTrace(snapshot, words);
}

std::vector<std::int64_t> BytesOf(const RecordedMemory& memory) {
  std::vector<std::int64_t> bytes;
  for (const RecordedBlock& block : memory.live) bytes.push_back(block.bytes);
  return bytes;
}

// Before the trace: 1024 at 1000, freed in it, and 512 at 9000, still there.
constexpr char kTrace[] = R"({
  "segments": [
    {"device": 0, "address": 9000, "total_size": 4096, "blocks": [
      {"address": 9000, "size": 512, "state": "active_allocated"},
      {"address": 9512, "size": 3072, "state": "inactive"},
      {"address": 12584, "size": 512, "state": "inactive"}]},
    {"device": 0, "address": 20000, "total_size": 2048, "blocks": [
      {"address": 20000, "size": 2048, "state": "inactive"}]}],
  "device_traces": [[
    {"action": "alloc", "addr": 20000, "size": 1025},
    {"action": "segment_alloc", "addr": 50000, "size": 8192},
    {"action": "alloc", "addr": 50000, "size": 8000},
    {"action": "free_requested", "addr": 1000, "size": 1000},
    {"action": "free_completed", "addr": 1000, "size": 1000},
    {"action": "free_requested", "addr": 50000, "size": 8000},
    {"action": "alloc", "addr": 20000, "size": 100},
    {"action": "free_completed", "addr": 50000, "size": 8000},
    {"action": "segment_free", "addr": 50000, "size": 8192},
    {"action": "free_requested", "addr": 20000, "size": 100},
    {"action": "free_completed", "addr": 20000, "size": 100},
    {"action": "oom", "device_free": 64, "size": 99999}]]})";

TEST(FollowTrace, FindsThePeakAndWhatIsAliveThen) {
  const RecordedMemory memory = Follow(kTrace);
  EXPECT_EQ(memory.entries, 12);
  EXPECT_EQ(memory.peak_entry, 2);
  // 512 and 1024 from before, 1536 of the first request, 8192.
  EXPECT_EQ(memory.peak_allocated, 512 + 1024 + 1536 + 8192);
  EXPECT_THAT(BytesOf(memory),
              testing::UnorderedElementsAre(512, 1024, 1536, 8192));
  EXPECT_EQ(memory.live.back().bytes, 8192);
}

TEST(FollowTrace, CountsReservedMemoryBackwards) {
  const RecordedMemory memory = Follow(kTrace);
  EXPECT_EQ(memory.peak_reserved, 4096 + 2048 + 8192);
  EXPECT_EQ(memory.reserved_at_peak, 4096 + 2048 + 8192);
}

TEST(FollowTrace, CountsFreeMemoryAtTheEnd) {
  const RecordedMemory memory = Follow(kTrace);
  EXPECT_EQ(memory.split_blocks, 2);
  EXPECT_EQ(memory.split_bytes, 3072 + 512);
  EXPECT_EQ(memory.free_segments, 2048);
  ASSERT_TRUE(memory.shortage);
  EXPECT_EQ(memory.shortage->entry, 11);
  EXPECT_EQ(memory.shortage->requested, 99999);
  EXPECT_EQ(memory.shortage->device_free, 64);
}

TEST(FollowTrace, TakesTheMomentWithoutATrace) {
  const RecordedMemory memory = Follow(R"({"segments": [
    {"device": 1, "address": 0, "total_size": 4096, "blocks": [
      {"size": 512, "state": "active_allocated"},
      {"size": 3584, "state": "inactive"}]}]})");
  EXPECT_EQ(memory.device, 1);
  EXPECT_EQ(memory.peak_entry, kBeforeTrace);
  EXPECT_EQ(memory.peak_allocated, 512);
  EXPECT_EQ(memory.reserved_at_peak, 4096);
  EXPECT_THAT(BytesOf(memory), ElementsAre(512));
}

TEST(FollowTrace, KeepsThePeakOfEachOrigin) {
  const RecordedMemory memory = Follow(R"({"segments": [], "device_traces": [[
    {"action": "alloc", "addr": 1, "size": 512,
     "frames": [{"name": "forward", "filename": "m.py", "line": 1}]},
    {"action": "alloc", "addr": 2, "size": 512, "frames": []},
    {"action": "free_requested", "addr": 1, "size": 512},
    {"action": "free_requested", "addr": 2, "size": 512},
    {"action": "alloc", "addr": 3, "size": 512,
     "frames": [{"name": "step", "filename": "/torch/optim/sgd.py", "line": 1}]}
    ]]})");
  EXPECT_THAT(memory.peak_by_origin, ElementsAre(512, 1024, 512, 0, 0));
}

}  // namespace
}  // namespace foretell::snapshot
