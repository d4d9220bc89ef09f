#include "src/parallel/combined.h"

#include "src/parallel/data_parallel.h"
#include "src/parallel/sharded.h"

namespace foretell::parallel {

OperatorGraph ShareData(OperatorGraph graph, const ParallelSpec& spec,
                        std::span<const TrainedParameter> trained) {
  if (spec.data == ParallelKind::kOneGpu) return graph;
  const ParallelSpec data = DataPart(spec);
  return ShardsParameters(data) ? ShardParameters(graph, data, trained)
                                : ShareBatches(graph, data, trained);
}

}  // namespace foretell::parallel
