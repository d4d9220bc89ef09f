#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// A training step of primitives (Decompose) with the backward pass of
/// AOTAutograd's min-cut partition: what SavedTensors does not keep is computed
/// again, directly before the backward operator that reads it. Tensors that are
/// kept have TensorRole::kSaved. Lifetimes are derived. The graph itself if it
/// has no backward pass.
OperatorGraph Partition(const OperatorGraph& graph);

}  // namespace foretell::runtime
