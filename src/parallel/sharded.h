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

/// ShardParameters for kZero2 and kFsdp if groups of `expert_gpus` GPUs share
/// experts. Lists of experts are units of their own, each split among the GPUs
/// that have the same experts.
OperatorGraph ShardWithExperts(const OperatorGraph& graph,
                               const ParallelSpec& spec,
                               std::span<const TrainedParameter> trained,
                               int expert_gpus);

}  // namespace foretell::parallel
