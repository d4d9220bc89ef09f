#pragma once

#include <vector>

#include "foretell/cost.h"
#include "foretell/graph.h"
#include "src/cost/kernel_launches.h"

namespace foretell::cost {

/// What a node costs on the CPU.
struct NodeDispatch {
  double first_us = 0;  ///< Until its first kernel is queued, in microseconds.
  KernelDispatch further = {};  ///< Of its other kernels.
};

/// Of every node of `graph`, on the host and with the run of `options`, in the
/// runtime that the graph was rewritten for: the only code that decides it. The
/// optimizer is dispatched by eager PyTorch in every runtime.
std::vector<NodeDispatch> DispatchOf(const OperatorGraph& graph,
                                     const CostOptions& options);

}  // namespace foretell::cost
