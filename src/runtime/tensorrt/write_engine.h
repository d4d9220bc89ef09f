#pragma once

#include "foretell/graph.h"
#include "foretell/runtime.h"
#include "src/runtime/tensorrt/plan_layers.h"

namespace foretell::runtime {

/// The graph of the layers of `plan`, in the types that `spec` allows: a node
/// for each kernel, as src/runtime/README.md describes them, images
/// channels-last, only those weights that the engine keeps, and storages that
/// live from their layer to the last that reads them.
OperatorGraph WriteEngine(const OperatorGraph& graph, const EnginePlan& plan,
                          const RuntimeSpec& spec);

}  // namespace foretell::runtime
