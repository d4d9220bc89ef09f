#pragma once

#include "foretell/graph.h"
#include "src/graph/block_runs.h"

namespace foretell::runtime {

/// A training step of primitives (Decompose) with the backward pass of
/// AOTAutograd's min-cut partition: what SavedTensors does not keep is computed
/// again, directly before the backward operator that reads it. Tensors that are
/// kept have TensorRole::kSaved. Lifetimes are derived. The graph itself if it
/// has no backward pass.
///
/// `runs`: checkpointed blocks of `graph`, all of which are computed again;
/// null without checkpoints.
OperatorGraph Partition(const OperatorGraph& graph,
                        const BlockRuns* runs = nullptr);

}  // namespace foretell::runtime
