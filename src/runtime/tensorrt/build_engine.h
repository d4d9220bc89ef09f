#pragma once

#include "foretell/graph.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The step of `graph` as an engine of TensorRT runs it.
///
/// Layers are fused, constants computed, images channels-last, and with
/// RuntimeSpec::int8 products multiply 8 bits.
///
/// Throws Error(kInvalidArgument) for a training step.
OperatorGraph BuildEngine(const OperatorGraph& graph, const RuntimeSpec& spec);

}  // namespace foretell::runtime
