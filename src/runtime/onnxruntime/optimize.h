#pragma once

#include "foretell/graph.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The step of `graph` as ONNX Runtime's CUDA provider runs it.
///
/// Throws Error(kInvalidArgument): not modelled yet.
OperatorGraph OptimizeForOnnxRuntime(const OperatorGraph& graph,
                                     const RuntimeSpec& spec);

}  // namespace foretell::runtime
