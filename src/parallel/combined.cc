#include "src/parallel/combined.h"

#include <string>
#include <vector>

#include "src/graph/parallel_plan.h"
#include "src/parallel/data_parallel.h"
#include "src/parallel/expert_paths.h"
#include "src/parallel/pipeline.h"
#include "src/parallel/sharded.h"

namespace foretell::parallel {

OperatorGraph ShareData(OperatorGraph graph, const ParallelSpec& spec,
                        std::span<const TrainedParameter> trained,
                        std::span<const NodeId> passes) {
  if (spec.data == ParallelKind::kOneGpu) return graph;
  const ParallelSpec data = DataPart(spec);
  if (HasStages(data)) return CutIntoStages(graph, data, trained);
  return ShardsParameters(data) ? ShardStage(graph, data, trained, passes)
                                : ShareBatches(graph, data, trained);
}

OperatorGraph ShareContext(const OperatorGraph& graph, const ParallelSpec& spec,
                           std::span<const TrainedParameter> trained) {
  if (trained.empty()) return graph;
  return spec.data == ParallelKind::kOneGpu ? ShareBatches(graph, spec, trained)
                                            : ShareData(graph, spec, trained);
}

OperatorGraph ShareExperts(const OperatorGraph& graph, const ParallelSpec& spec,
                           std::span<const TrainedParameter> trained) {
  if (trained.empty()) return graph;
  if (spec.data != ParallelKind::kOneGpu) {
    return ShardWithExperts(graph, DataPart(spec), trained, spec.gpus);
  }
  std::vector<TrainedParameter> everywhere;
  for (const TrainedParameter& one : trained) {
    const std::string& name = graph.storage(one.parameter).label;
    if (ExpertsIn(name).empty()) everywhere.push_back(one);
  }
  if (everywhere.empty()) return graph;
  return ShareBatches(graph, spec, everywhere);
}

}  // namespace foretell::parallel
