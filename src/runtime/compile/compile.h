#pragma once

#include <string>

#include "foretell/graph.h"
#include "foretell/run.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The step of `graph` as torch.compile of that PyTorch runs it. `recompute`:
/// checkpointed blocks as RecomputeBlocks reads them; empty: none.
///
/// Throws Error(kInvalidArgument) as GraphBuilder, RecomputeBlocks and
/// FindRegions do, for reentrant checkpoints, which Dynamo does not trace, and
/// with `spec.only` for CUDA graphs and for blocks outside of its modules.
OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec,
                      const TorchVersion& torch,
                      const std::string& recompute = {});

}  // namespace foretell::runtime
