#include "src/snapshot/memory_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/graph/expect_error.h"

namespace foretell::snapshot {
namespace {

void ExpectRefused(const std::string& text, const std::string& part) {
  ExpectError([&] { ParseSnapshot(text, "s.json"); }, ErrorCode::kCorrupt,
              "s.json: " + part);
}

TEST(ParseSnapshot, ReadsSegmentsTracesAndStacks) {
  const MemorySnapshot read = ParseSnapshot(R"({
    "segments": [{"device": 1, "address": 4096, "total_size": 2048,
                  "stream": 0, "segment_type": "small", "blocks": [
        {"address": 4096, "size": 512, "requested_size": 500,
         "state": "active_allocated",
         "frames": [{"name": "f", "filename": "a.py", "line": 3}]},
        {"address": 4608, "size": 1024, "state": "active_awaiting_free",
         "frames": []},
        {"address": 5632, "size": 512, "state": "inactive"}]}],
    "device_traces": [[], [
        {"action": "alloc", "addr": 4096, "size": 500, "frames": []},
        {"action": "segment_map", "addr": 4096, "size": 2048},
        {"action": "oom", "device_free": 7, "size": 9, "stream": 0},
        {"action": "snapshot", "addr": 0, "size": 0}]],
    "allocator_settings": {"garbage_collection_threshold": 0.5}})",
                                            "s.json");
  ASSERT_EQ(read.segments.size(), 1u);
  EXPECT_EQ(read.segments[0].device, 1);
  EXPECT_EQ(read.segments[0].size, 2048);
  const auto& blocks = read.segments[0].blocks;
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].state, BlockState::kAllocated);
  EXPECT_EQ(blocks[1].state, BlockState::kPending);
  EXPECT_EQ(blocks[2].state, BlockState::kFree);
  EXPECT_EQ(blocks[2].stack, kNoStack);
  const Frame& frame =
      read.frames[read.stacks[static_cast<std::size_t>(blocks[0].stack)][0]];
  EXPECT_EQ(read.texts[frame.file], "a.py");
  EXPECT_EQ(read.texts[frame.function], "f");
  EXPECT_EQ(frame.line, 3);
  ASSERT_EQ(read.traces.size(), 2u);
  ASSERT_EQ(read.traces[1].size(), 4u);
  EXPECT_EQ(read.traces[1][0].action, Action::kAllocate);
  EXPECT_EQ(read.traces[1][1].action, Action::kSegmentTaken);
  EXPECT_EQ(read.traces[1][2].address, 7);
  EXPECT_EQ(read.traces[1][3].action, Action::kOther);
}

// PyTorch 2.0: no addresses, and stacks in the history.
TEST(ParseSnapshot, ReadsTheOlderForm) {
  const MemorySnapshot read = ParseSnapshot(R"({
    "segments": [{"device": 0, "address": 1024, "total_size": 2048, "blocks": [
        {"size": 512, "state": "inactive"},
        {"size": 1536, "state": "active_allocated", "history": [
            {"addr": 1536, "real_size": 1500,
             "frames": [{"name": "g", "filename": "b.py", "line": 1}]}]}]}]})",
                                            "s.json");
  EXPECT_EQ(read.segments[0].blocks[1].address, 1536);
  EXPECT_NE(read.segments[0].blocks[1].stack, kNoStack);
  EXPECT_TRUE(read.traces.empty());
}

TEST(ParseSnapshot, ReadsPicklesAndKeepsASharedStackOnce) {
  const MemorySnapshot read =
      ReadSnapshot(FORETELL_SOURCE_DIR "/tests/snapshot/data/resnet18.pickle");
  ASSERT_EQ(read.traces.size(), 1u);
  // Of 42 weights all have the stack of the same two lines.
  EXPECT_EQ(read.traces[0][1].stack, read.traces[0][2].stack);
  EXPECT_LT(read.frames.size(), 30u);
}

TEST(ParseSnapshot, NamesTheFieldAndWhatWasExpected) {
  ExpectRefused("{}", "segments is missing, expected a list");
  ExpectRefused(R"({"segments": 3})", "segments is of another kind");
  ExpectRefused(R"({"segments": [{"address": 1}]})",
                "segments[0].total_size is missing, expected a whole number");
  ExpectRefused(R"({"segments": [{"address": 1, "total_size": 9, "blocks": [
                    {"size": -1, "state": "inactive"}]}]})",
                "segments[0].blocks[0].size is -1, expected 0 to ");
  ExpectRefused(R"({"segments": [], "device_traces": [[], [
                    {"action": "alloc", "addr": "x", "size": 1}]]})",
                "device_traces[1][0].addr is of another kind, expected a");
  ExpectRefused(R"({"segments": [], "device_traces": [[
                    {"action": "alloc", "addr": 1, "size": 1,
                     "frames": [{"name": "f", "line": 1}]}]]})",
                "device_traces[0][0].frames[0].filename is missing");
}

// A list that holds one segment of one block, by its number in the memo, as
// often as the file has room.
TEST(ParseSnapshot, RefusesMoreRecordsThanItKeeps) {
  std::string bytes = "\x80\x02](}(X\x07";
  bytes += std::string(3, '\0') + "addressK\1X" + std::string("\x0a\0\0\0", 4) +
           "total_sizeK\1X" + std::string("\x06\0\0\0", 4) + "blocks]uq" +
           std::string(1, '\0');
  for (int i = 0; i < (1 << 22); ++i) bytes += std::string("h\0", 2);
  ExpectError([&] { ParseSnapshot(bytes + "e.", "s.pickle"); },
              ErrorCode::kUnsupported,
              "s.pickle: has more than 4194304 blocks and entries");
}

}  // namespace
}  // namespace foretell::snapshot
