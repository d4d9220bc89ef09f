#pragma once

#include <cstdint>
#include <string>

#include "foretell/dataset.h"
#include "foretell/graph.h"

namespace foretell::dataset_test {

/// A convolution and a relu on images of 8 × 8: two nodes and one edge.
OperatorGraph ToyGraph(std::int64_t batch = 1);

/// The toy as a point, in inference at fp32.
Point ToyPoint(const std::string& model = "toy", std::int64_t batch = 1);

/// A measured latency on "gpu" from "test".
Label ToyLabel(RowId point, double latency_ms);

}  // namespace foretell::dataset_test
