#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "foretell/graph.h"

namespace foretell::parallel_test {

/// As the columns of the golden table.
using Bytes = std::array<std::int64_t, 4>;

struct RealRow {
  std::string network;
  std::string plan;
  int batches = 1;
  int gpu = 0;  ///< Of a pipeline.
  Bytes bytes = {};
};

/// Those of tests/golden/parallel/live_bytes.csv.
std::vector<RealRow> RealRows();
/// Those of pipeline_bytes.csv.
std::vector<RealRow> PipelineRows();

/// Live bytes before the first node, after the last one of the forward and of
/// the backward pass, and the most from there on.
Bytes Simulated(const OperatorGraph& graph);

}  // namespace foretell::parallel_test
