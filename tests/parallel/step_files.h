#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "src/parallel/parallelize.h"

namespace foretell::parallel_test {

/// A step of SGD with momentum that tests/golden/parallel has, and what it
/// trains, read off its optimizer.
struct RealStep {
  OperatorGraph graph;
  std::vector<parallel::TrainedParameter> trained;

  OperatorGraph Under(const std::string& plan) const;
};

/// `network` is the name of a graph of tests/golden/parallel.
RealStep ReadStep(const std::string& network);

}  // namespace foretell::parallel_test
