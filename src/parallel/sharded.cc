#include "src/parallel/sharded.h"

#include "src/parallel/sharded_step.h"

namespace foretell::parallel {

OperatorGraph ShardParameters(const OperatorGraph& graph,
                              const ParallelSpec& spec,
                              std::span<const TrainedParameter> trained) {
  return ShardedStep(graph, spec, trained).Rewrite();
}

}  // namespace foretell::parallel
