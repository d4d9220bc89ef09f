#include "src/parallel/sharded.h"

#include "src/parallel/sharded_step.h"

namespace foretell::parallel {

OperatorGraph ShardParameters(const OperatorGraph& graph,
                              const ParallelSpec& spec,
                              std::span<const TrainedParameter> trained) {
  return ShardStage(graph, spec, trained, {});
}

OperatorGraph ShardStage(const OperatorGraph& graph, const ParallelSpec& spec,
                         std::span<const TrainedParameter> trained,
                         std::span<const NodeId> passes) {
  return ShardedStep(graph, spec, trained, passes, 1).Rewrite();
}

OperatorGraph ShardWithExperts(const OperatorGraph& graph,
                               const ParallelSpec& spec,
                               std::span<const TrainedParameter> trained,
                               int expert_gpus) {
  return ShardedStep(graph, spec, trained, {}, expert_gpus).Rewrite();
}

}  // namespace foretell::parallel
