#pragma once

#include <string>

#include "foretell/graph.h"
#include "foretell/run.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The step of `graph`, which PyTorch's operators make up, as `spec` runs it:
/// its nodes are the kernels that remain, its events the runtime's own plan of
/// memory, and its info names `spec`. The step of Runtime::kEager is the graph
/// itself.
///
/// `torch` is the PyTorch that compiles; `recompute`, the blocks that a
/// compiled training step computes again (RecomputeBlocks). Throws
/// Error(kInvalidArgument) for a step that the runtime cannot run.
OperatorGraph Lower(const OperatorGraph& graph, const RuntimeSpec& spec,
                    const TorchVersion& torch,
                    const std::string& recompute = {});

}  // namespace foretell::runtime
