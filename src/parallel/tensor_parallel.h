#pragma once

#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// Parallelize for kTensor. Its steps may be of inference.
OperatorGraph ShareLayers(const OperatorGraph& graph, const ParallelSpec& spec,
                          std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
