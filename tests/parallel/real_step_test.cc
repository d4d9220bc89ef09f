// Bytes of steps that GPUs share, against those that real PyTorch allocates
// when processes share them over Gloo.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "src/core/files.h"
#include "src/parallel/accumulate_shards.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

/// As the columns of the golden table.
using Bytes = std::array<std::int64_t, 4>;

struct RealRow {
  std::string network;
  std::string plan;
  int batches = 1;
  Bytes bytes = {};
};

/// One line of the table; plans with a comma stand in quotes.
RealRow ReadRow(const std::string& line) {
  RealRow row;
  std::stringstream fields(line);
  std::getline(fields, row.network, ',');
  const bool is_quoted = fields.peek() == '"';
  if (is_quoted) fields.get();
  std::getline(fields, row.plan, is_quoted ? '"' : ',');
  if (is_quoted) fields.get();
  fields >> row.batches;
  fields.get();
  for (std::int64_t& bytes : row.bytes) {
    fields >> bytes;
    fields.get();
  }
  return row;
}

std::vector<RealRow> RealRows() {
  std::stringstream table(
      ReadText(FORETELL_SOURCE_DIR "/tests/golden/parallel/live_bytes.csv"));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, "network,plan,batches,standing,forward,backward,peak");
  std::vector<RealRow> rows;
  while (std::getline(table, line)) rows.push_back(ReadRow(line));
  return rows;
}

/// Live bytes before the first node, after the last one of the forward and of
/// the backward pass, and the most from there on.
Bytes Simulated(const OperatorGraph& graph) {
  Bytes bytes = {};
  std::int64_t live = 0;
  for (const MemoryEvent& event : graph.events()) {
    const std::int64_t size = graph.storage(event.storage).bytes;
    live += event.kind == MemoryEvent::Kind::kAllocate ? size : -size;
    if (event.node == kNone) {
      bytes.fill(live);
      continue;
    }
    const Phase phase = graph.node(event.node).phase;
    if (phase == Phase::kForward) bytes[1] = live;
    if (phase == Phase::kBackward) bytes[2] = live;
    bytes[3] = std::max(bytes[3], live);
  }
  return bytes;
}

TEST(RealStep, TakesTheBytesThatPyTorchAllocates) {
  const std::vector<RealRow> rows = RealRows();
  EXPECT_EQ(rows.size(), 56u);
  for (const RealRow& row : rows) {
    SCOPED_TRACE(row.network + " " + row.plan + " x" +
                 std::to_string(row.batches));
    const bool has_blocks = row.plan.starts_with("fsdp") ||
                            row.plan.starts_with("hsdp") ||
                            row.plan.starts_with("zero2");
    const std::string blocks =
        row.network == "mlp" ? ",blocks=layers.*" : ",blocks=blocks.*";
    const bool is_traced = row.batches > 1 && !has_blocks;
    const std::string step =
        row.network + (is_traced ? fmt::format(".{}", row.batches) : "");
    const OperatorGraph graph = parallel_test::ReadStep(step).Under(
        row.plan + (has_blocks ? blocks : ""));
    const int added = is_traced ? 1 : row.batches;
    const bool no_sync = row.plan.find("no-sync") != std::string::npos;
    EXPECT_EQ(Simulated(parallel::AccumulateShards(graph, added, no_sync)),
              row.bytes);
  }
}

}  // namespace
}  // namespace foretell
