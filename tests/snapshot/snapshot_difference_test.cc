#include "src/snapshot/snapshot_difference.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/graph/expect_error.h"

namespace foretell::snapshot {
namespace {

using Json = nlohmann::ordered_json;

/// A document of `foretell report --json` in the fields that are read: a weight
/// and its gradient of 1 MiB each, an activation of 2 MiB and one of 4 MiB, all
/// alive at the second of three operators.
Json Step() {
  Json step = Json::parse(R"({
    "result": {"model": "m", "format": "zoo", "device": "a100",
      "environment": "cuda13", "mode": "training", "precision": "fp32",
      "parameters": 1, "operators": 3, "static_features": {"macs": 1},
      "memory": {"total_mib": 700, "reserved_mib": 30, "allocated_mib": 8.125,
        "parameters_mib": 1, "buffers_mib": 0, "inputs_mib": 0,
        "activations_mib": 6, "gradients_mib": 1, "optimizer_mib": 0,
        "temporaries_mib": 0, "workspace_at_peak_mib": 0,
        "rounding_mib": 0.125},
      "latency": {"ms": 1}, "energy": {"j": 1}},
    "modules": [],
    "memory_over_step": {"operators": 3,
      "moments": {"operator": [0, 1, 2], "name": ["mm", "mm", "add_"],
        "phase": ["forward", "backward", "optimizer"],
        "allocated_mib": [7, 8.125, 2], "reserved_mib": [30, 30, 30]},
      "tensors": {"label": ["w", "a", "b", "g"],
        "module": ["layers.0", "layers.0", "layers.1", "layers.0"],
        "type": ["f32[262144]", "f32[524288]", "f32[1048576]", ""],
        "role": ["parameter", "saved", "saved", "gradient"],
        "mib": [1, 2, 4, 1], "first": [0, 0, 0, 1], "last": [2, 1, 1, 2]}}})");
  return step;
}

/// The weight, the activation of 2 MiB, the gradient, and 3 MiB of a line of
/// its own at the peak.
MemorySnapshot Recorded() {
  return ParseSnapshot(R"({
    "segments": [{"device": 0, "address": 0, "total_size": 20971520,
                  "blocks": [
      {"address": 0, "size": 1048576, "state": "active_allocated",
       "frames": [{"name": "<module>", "filename": "main.py", "line": 2}]},
      {"address": 1048576, "size": 19922944, "state": "inactive"}]}],
    "device_traces": [[
      {"action": "alloc", "addr": 1048576, "size": 2097152,
       "frames": [{"name": "forward", "filename": "net.py", "line": 5}]},
      {"action": "alloc", "addr": 4194304, "size": 3145728,
       "frames": [{"name": "forward", "filename": "net.py", "line": 9}]},
      {"action": "alloc", "addr": 8388608, "size": 1048576, "frames": []},
      {"action": "free_requested", "addr": 4194304, "size": 3145728},
      {"action": "free_requested", "addr": 1048576, "size": 2097152},
      {"action": "free_requested", "addr": 8388608, "size": 1048576}]]})",
                       "s.json");
}

Json Difference(const MemorySnapshot& snapshot) {
  return SnapshotDifference(snapshot, "s.json", Step(), "step.json");
}

/// Of the figure `name`: the snapshot's and the predicted number.
std::pair<double, double> FigureOf(const Json& difference,
                                   const std::string& name) {
  for (const Json& row : difference["figures"]) {
    if (row["name"] == name) return {row["snapshot"], row["predicted"]};
  }
  return {-1, -1};
}

using Numbers = std::pair<double, double>;

TEST(SnapshotDifference, HasPartsOfThePeakAndPasses) {
  const Json found = Difference(Recorded());
  EXPECT_EQ(FigureOf(found, "allocated"), Numbers(7, 8.125));
  EXPECT_EQ(FigureOf(found, "  parameters"), Numbers(1, 1));
  EXPECT_EQ(FigureOf(found, "  activations"), Numbers(5, 6));
  EXPECT_EQ(FigureOf(found, "  gradients"), Numbers(1, 1));
  EXPECT_EQ(FigureOf(found, "  rounding"), Numbers(0, 0.125));
  EXPECT_EQ(FigureOf(found, "  inputs"), Numbers(-1, -1));  // None on a side.
  EXPECT_EQ(FigureOf(found, "reserved"), Numbers(20, 30));
  EXPECT_EQ(FigureOf(found, "  cached at the peak").first, 13);
  EXPECT_EQ(FigureOf(found, "most in forward"), Numbers(6, 7));
  EXPECT_EQ(FigureOf(found, "most in backward"), Numbers(7, 8.125));
  EXPECT_EQ(FigureOf(found, "most in optimizer"), Numbers(0, 2));
}

TEST(SnapshotDifference, SaysWhereTheSnapshotHasItsPeak) {
  const Json recorded = Difference(Recorded())["snapshot"];
  EXPECT_EQ(recorded["peak_entry"], 2);
  EXPECT_EQ(recorded["peak_origin"], "backward");
  EXPECT_EQ(recorded["entries"], 6);
  EXPECT_EQ(recorded["split_blocks"], 1);
  EXPECT_EQ(recorded["split_mib"], 19);
}

TEST(SnapshotDifference, ListsWhatHasNoCounterpart) {
  const Json unmatched = Difference(Recorded())["unmatched"];
  EXPECT_EQ(unmatched["snapshot"],
            Json::parse(R"([{"count": 1, "mib": 3, "origin": "forward",
                             "place": "net.py:9 forward"}])"));
  EXPECT_EQ(unmatched["predicted"],
            Json::parse(R"([{"count": 1, "mib": 4, "role": "saved",
                             "module": "layers.*", "type": "f32[1048576]"}])"));
}

TEST(SnapshotDifference, PutsModulesBesideLinesOfTheProgram) {
  const Json modules = Difference(Recorded())["modules"];
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0]["module"], "layers.*");
  EXPECT_EQ(modules[0]["place"], "net.py:5 forward");
  EXPECT_EQ(modules[0]["snapshot_mib"], 4);
  EXPECT_EQ(modules[0]["predicted_mib"], 8);
  EXPECT_EQ(modules[1]["module"], "net.py:9 forward");
  EXPECT_EQ(modules[1]["snapshot_mib"], 3);
  EXPECT_EQ(modules[1]["predicted_mib"], 0);
}

// Sizes and the order of allocation are all that is left then.
TEST(SnapshotDifference, MatchesWithoutFrames) {
  MemorySnapshot snapshot = Recorded();
  for (Segment& segment : snapshot.segments) {
    for (Block& block : segment.blocks) block.stack = kNoStack;
  }
  for (TraceEntry& entry : snapshot.traces[0]) entry.stack = kNoStack;
  const Json found = Difference(snapshot);
  EXPECT_EQ(FigureOf(found, "  parameters"), Numbers(1, 1));
  EXPECT_EQ(FigureOf(found, "  gradients"), Numbers(1, 1));
  EXPECT_EQ(FigureOf(found, "  activations"), Numbers(2, 6));
  EXPECT_EQ(FigureOf(found, "  unexplained"), Numbers(3, 0));
  EXPECT_EQ(FigureOf(found, "most in forward"), Numbers(-1, -1));
}

TEST(SnapshotDifference, NamesTheFieldThatADocumentLacks) {
  const auto expect = [](const char* pointer, const char* part) {
    Json step = Step();
    step.at(Json::json_pointer(pointer)) = "x";
    ExpectError([&] { SnapshotDifference(Recorded(), "s", step, "step.json"); },
                ErrorCode::kCorrupt, part);
  };
  expect("/result/memory/rounding_mib",
         "step.json: result/memory/rounding_mib is missing");
  expect("/memory_over_step", "step.json: memory_over_step");
  expect("/memory_over_step/tensors/mib", "memory_over_step.tensors.mib");
  Json step = Step();
  step["memory_over_step"]["tensors"]["mib"].push_back(1);
  ExpectError([&] { SnapshotDifference(Recorded(), "s", step, "step.json"); },
              ErrorCode::kCorrupt, "has another length");
}

}  // namespace
}  // namespace foretell::snapshot
