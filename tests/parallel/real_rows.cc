#include "tests/parallel/real_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "src/core/files.h"

namespace foretell::parallel_test {
namespace {

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

}  // namespace

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

}  // namespace foretell::parallel_test
