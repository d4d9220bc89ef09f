#pragma once

#include "foretell/graph.h"
#include "foretell/run.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// Since this version backward operators of losses and max poolings are fused
/// scatters. 2.11 was measured without, 2.13 read; 2.12 neither.
inline constexpr TorchVersion kFusedScatters = {.major = 2, .minor = 13};

/// The step as Inductor sees it after AOTAutograd: primitives without a
/// composite, in-place operators that return new tensors (but those on
/// parameters, buffers and optimizer states), images channels-last if
/// PrefersChannelsLast. The optimizer stays as it is. Lifetimes are derived.
OperatorGraph Decompose(const OperatorGraph& graph, const RuntimeSpec& spec,
                        const TorchVersion& torch = kFusedScatters);

}  // namespace foretell::runtime
