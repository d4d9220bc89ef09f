#pragma once

#include <functional>

#include "foretell/device.h"
#include "foretell/memory.h"
#include "foretell/prediction.h"

namespace foretell {

/// Puts the figures of all GPUs of `graph`'s pipeline into a prediction of its
/// own GPU: Prediction::stages, and times that include what the GPU waits for
/// the others. Nothing for a graph without a pipeline. `memory_of` simulates
/// the memory of another GPU's graph.
void PutPipeline(
    const OperatorGraph& graph, const DeviceSpec& device,
    const CostOptions& options,
    const std::function<MemoryBreakdown(const OperatorGraph&)>& memory_of,
    Prediction& prediction);

}  // namespace foretell
