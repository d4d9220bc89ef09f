#include "src/parallel/follow_trained.h"

#include "src/core/failure.h"
#include "src/graph/index_of.h"

namespace foretell::parallel {
namespace {

std::vector<const Node*> OptimizerOf(const OperatorGraph& graph) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes()) {
    if (node.phase == Phase::kOptimizer) nodes.push_back(&node);
  }
  return nodes;
}

/// By storage of `step`: that of `lowered`, where the optimizer reads it.
std::vector<StorageId> StoragesOfOptimizer(const OperatorGraph& step,
                                           const OperatorGraph& lowered) {
  std::vector<StorageId> storages(step.storages().size(), kNone);
  const std::vector<const Node*> before = OptimizerOf(step);
  const std::vector<const Node*> after = OptimizerOf(lowered);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_same = i < after.size() &&
                         before[i]->target == after[i]->target &&
                         before[i]->inputs.size() == after[i]->inputs.size();
    if (!is_same) {
      throw InternalFailure(
          "operator {} of the optimizer, {}, is another one after the step was "
          "lowered",
          i, before[i]->target);
    }
    for (std::size_t k = 0; k < before[i]->inputs.size(); ++k) {
      storages[IndexOf(step.value(before[i]->inputs[k]).storage)] =
          lowered.value(after[i]->inputs[k]).storage;
    }
  }
  return storages;
}

}  // namespace

std::vector<TrainedParameter> FollowTrained(
    const OperatorGraph& step, const OperatorGraph& lowered,
    std::span<const TrainedParameter> trained) {
  const std::vector<StorageId> storages = StoragesOfOptimizer(step, lowered);
  std::vector<TrainedParameter> followed;
  for (const TrainedParameter& one : trained) {
    followed.push_back({.parameter = storages[IndexOf(one.parameter)],
                        .gradient = storages[IndexOf(one.gradient)]});
  }
  return followed;
}

}  // namespace foretell::parallel
