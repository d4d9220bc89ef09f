#pragma once

#include <span>
#include <vector>

#include "foretell/cost.h"
#include "foretell/graph.h"

namespace foretell::cost {

/// Microseconds from the start of a pipeline's step until each GPU is done,
/// event by event: a GPU that receives waits until the other has sent.
/// `estimates` are of the GPUs' graphs, each as if nothing had to be waited
/// for. Throws Error(kInvalidArgument) if a GPU waits for something that none
/// sends.
std::vector<double> PipelineEndsUs(std::span<const PipelineGpu> gpus,
                                   std::span<const CostEstimate> estimates);

}  // namespace foretell::cost
