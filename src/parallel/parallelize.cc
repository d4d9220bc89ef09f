#include "src/parallel/parallelize.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/error.h"
#include "src/parallel/combined.h"
#include "src/parallel/data_parallel.h"
#include "src/parallel/pipeline.h"
#include "src/parallel/sharded.h"
#include "src/parallel/tensor_parallel.h"

namespace foretell::parallel {
namespace {

using Plan = OperatorGraph (*)(const OperatorGraph&, const ParallelSpec&,
                               std::span<const TrainedParameter>);

struct PlanRow {
  ParallelKind kind;
  Plan plan;
};

constexpr PlanRow kPlans[] = {{ParallelKind::kDdp, &ShareBatches},
                              {ParallelKind::kZero1, &ShareBatches},
                              {ParallelKind::kZero2, &ShardParameters},
                              {ParallelKind::kFsdp, &ShardParameters},
                              {ParallelKind::kFsdp1, &ShardParameters},
                              {ParallelKind::kTensor, &ShareLayers},
                              {ParallelKind::kPipeline, &CutIntoStages},
                              {ParallelKind::kContext, &ShareContext},
                              {ParallelKind::kExpert, &ShareExperts}};

}  // namespace

OperatorGraph Parallelize(const OperatorGraph& graph, const ParallelSpec& spec,
                          std::span<const TrainedParameter> trained) {
  if (spec.kind == ParallelKind::kOneGpu) return graph;
  if (trained.empty() && !SharesInference(spec)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "{}: the step trains no parameter, so GPUs have nothing to share",
            ToString(spec)));
  }
  const auto* const row = std::ranges::find(kPlans, spec.kind, &PlanRow::kind);
  return row->plan(graph, spec, trained);
}

}  // namespace foretell::parallel
