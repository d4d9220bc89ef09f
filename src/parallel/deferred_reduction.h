#pragma once

#include <vector>

#include "foretell/graph.h"

namespace foretell::parallel {

/// A gradient of a sharded step that batches add up.
struct AddedGradient {
  StorageId storage = kNone;  ///< What a batch has made.
  /// The last node that writes it; what follows reads the sum.
  NodeId writer = kNone;
  /// The node before which a first batch converts it for the sum, and further
  /// ones add theirs; kNone: they are added once they are written.
  NodeId packs = kNone;
  DType dtype = DType::kF32;  ///< Of the sum, if it is converted.
};

/// What no_sync() leaves to the last batch.
struct DeferredReduction {
  std::vector<bool>
      is_deferred;  ///< By node: whether only the last one runs it.
  std::vector<AddedGradient> gradients;
};

/// Of `graph`, the step of one batch as ShardParameters made it. fully_shard
/// keeps each parameter's whole gradient, in the type of the reduction;
/// FullyShardedDataParallel a block's flat gradient, in its own type.
DeferredReduction FindDeferredReduction(const OperatorGraph& graph);

}  // namespace foretell::parallel
