#include "tests/parallel/real_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "src/core/files.h"

namespace foretell::parallel_test {
namespace {

/// From a field with the plan, which stands in quotes if it has a comma.
void ReadPlan(std::stringstream& fields, RealRow& row, int& number) {
  const bool is_quoted = fields.peek() == '"';
  if (is_quoted) fields.get();
  std::getline(fields, row.plan, is_quoted ? '"' : ',');
  if (is_quoted) fields.get();
  fields >> number;
  fields.get();
  for (std::int64_t& bytes : row.bytes) {
    fields >> bytes;
    fields.get();
  }
}

/// Lines of a table of tests/golden/parallel after its header.
std::vector<std::string> LinesOf(const std::string& name,
                                 const std::string& header) {
  std::stringstream table(
      ReadText(FORETELL_SOURCE_DIR "/tests/golden/parallel/" + name));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, header);
  std::vector<std::string> lines;
  while (std::getline(table, line)) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<RealRow> RealRows() {
  std::vector<RealRow> rows;
  for (const std::string& line :
       LinesOf("live_bytes.csv",
               "network,plan,batches,standing,forward,backward,peak")) {
    std::stringstream fields(line);
    RealRow& row = rows.emplace_back();
    std::getline(fields, row.network, ',');
    ReadPlan(fields, row, row.batches);
  }
  return rows;
}

std::vector<RealRow> PipelineRows() {
  std::vector<RealRow> rows;
  for (const std::string& line : LinesOf(
           "pipeline_bytes.csv", "plan,gpu,standing,forward,backward,peak")) {
    std::stringstream fields(line);
    RealRow& row = rows.emplace_back(RealRow{.network = "piped"});
    ReadPlan(fields, row, row.gpu);
  }
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
