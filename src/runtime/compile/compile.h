#pragma once

#include "foretell/graph.h"
#include "foretell/run.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The step of `graph` as torch.compile of that PyTorch runs it.
///
/// Throws Error(kInvalidArgument) as GraphBuilder does.
OperatorGraph Compile(const OperatorGraph& graph, const RuntimeSpec& spec,
                      const TorchVersion& torch = {});

}  // namespace foretell::runtime
