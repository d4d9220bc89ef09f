#pragma once

#include "foretell/graph.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The inference step of `graph` as ONNX Runtime's CUDA provider runs it: the
/// nodes that remain after the passes of `spec`'s level, in buffers as its
/// planner assigns them.
///
/// Throws Error(kInvalidArgument) for a training step and for one that GPUs
/// share.
OperatorGraph OptimizeForOnnxRuntime(const OperatorGraph& graph,
                                     const RuntimeSpec& spec);

}  // namespace foretell::runtime
