#pragma once

#include <span>
#include <vector>

#include "foretell/graph.h"
#include "src/runtime/compile/loops.h"
#include "src/runtime/compile/pass_buffers.h"

namespace foretell::runtime {

/// A tensor that is written where another one lies.
struct Reuse {
  ValueId made = kNone;
  ValueId of = kNone;  ///< Its own memory, or again another's.
};

/// The kernels of a pass and the order in which they run (OrderForPeak).
struct OrderedPass {
  std::span<const KernelNodes> kernels;
  const PassBuffers& buffers;
  const std::vector<int>& order;
  /// By value of the graph: a kernel writes it, or only computes with it.
  const std::vector<bool>& reaches_memory;
};

/// The tensors that Inductor writes where others lie that are no longer needed.
std::vector<Reuse> PlanReuse(const OperatorGraph& graph,
                             const std::vector<Loop>& loops,
                             const OrderedPass& pass);

}  // namespace foretell::runtime
