#pragma once

#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// Parallelize for kZero2, kFsdp and kFsdp1.
OperatorGraph ShardParameters(const OperatorGraph& graph,
                              const ParallelSpec& spec,
                              std::span<const TrainedParameter> trained);

/// The same of the stage that a pipeline's GPU has, whose passes begin with the
/// nodes `passes`, for kZero2 and kFsdp.
OperatorGraph ShardStage(const OperatorGraph& graph, const ParallelSpec& spec,
                         std::span<const TrainedParameter> trained,
                         std::span<const NodeId> passes);

}  // namespace foretell::parallel
