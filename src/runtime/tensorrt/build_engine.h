#pragma once

#include "foretell/graph.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The step of `graph` as an engine of TensorRT runs it.
///
/// Throws Error(kInvalidArgument): not modelled yet.
OperatorGraph BuildEngine(const OperatorGraph& graph, const RuntimeSpec& spec);

}  // namespace foretell::runtime
