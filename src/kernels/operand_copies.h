#pragma once

#include <vector>

#include "foretell/graph.h"
#include "foretell/run.h"
#include "src/kernels/tensors.h"

namespace foretell::cost {

/// An operand that an operator copies since it cannot read it as it lies.
struct OperandCopy {
  ValueId operand = kNone;
  /// The operator is made of others, and the copy is a storage of the trace;
  /// else a CUDA kernel's wrapper makes it, which no trace shows.
  bool traced = false;
};

/// The copies that `node` makes inside, in the order of its operands; they live
/// until it returns. None of what its calls copy.
std::vector<OperandCopy> OperandCopies(const OperatorGraph& graph,
                                       const Node& node, const Run& run);

/// Results of `node` that its kernel leaves contiguous and that are then copied
/// into the layout that they have in the graph.
std::vector<ValueId> CopiedResults(const OperatorGraph& graph,
                                   const Node& node);

/// Bytes of a copy of `id`: all elements, those of an expanded tensor too.
std::int64_t CopyBytes(const Tensors& tensors, ValueId id);

}  // namespace foretell::cost
