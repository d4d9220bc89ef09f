#pragma once

#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// Parallelize for kContext, kExpert, kDdp and kZero1.
OperatorGraph ShareBatches(const OperatorGraph& graph, const ParallelSpec& spec,
                           std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
