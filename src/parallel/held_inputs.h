#pragma once

#include <vector>

#include "src/parallel/sharded_units.h"

namespace foretell::parallel {

/// A gradient that is kept from `node` on, before which it is whole.
struct HeldGradient {
  NodeId node = kNone;
  StorageId storage = kNone;
};

/// Tensors that FSDP 1 with reentrant checkpointing keeps to the end of the
/// backward pass although nothing reads them.
struct HeldTensors {
  std::vector<StorageId> inputs;        ///< Of recomputed blocks.
  std::vector<HeldGradient> gradients;  ///< Of these inputs, in order.
};

/// Those of recomputed blocks with frozen parameters. For a frozen flat
/// parameter _register_post_backward_reshard_only_hook
/// (torch/distributed/fsdp/_runtime_utils.py, 2.2 to 2.13) puts
/// register_multi_grad_hook on the block's inputs. A reentrant checkpoint has
/// detached them, so they are leaves: the hook's closure holds their
/// AccumulateGrad nodes, each of these its leaf and the leaf its gradient,
/// until _finalize_params removes the hook. Without reentrance the closure
/// holds nodes alone, which have given up their tensors.
HeldTensors FindHeldTensors(const OperatorGraph& graph, const StepFacts& facts,
                            const std::vector<ShardedUnit>& units);

}  // namespace foretell::parallel
