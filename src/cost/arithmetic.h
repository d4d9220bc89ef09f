#pragma once

#include "foretell/graph.h"
#include "src/cost/machine.h"

namespace foretell::cost {

/// Time of a node's arithmetic.
struct Arithmetic {
  double us = 0;          ///< As the kernels of its kind do it.
  double at_peak_us = 0;  ///< At the peak rate of the unit that does it.
};

/// Arithmetic of `node`, which does `flops` in all: its matrix products on the
/// unit that its precision selects, everything else on the FP32 lanes.
Arithmetic ArithmeticOf(const OperatorGraph& graph, const Node& node,
                        double flops, const Machine& machine);

}  // namespace foretell::cost
