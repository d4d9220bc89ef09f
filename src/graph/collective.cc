#include "src/graph/collective.h"

#include <algorithm>

#include "src/graph/attributes.h"
#include "src/graph/parallel_plan.h"

namespace foretell {
bool IsOfHost(const Node& node) {
  return node.target == kToHost || node.target == kFromHost ||
         node.target == kStepOnHost || node.target == kRunOnHost;
}

std::optional<Collective> CollectiveOf(const Node& node) {
  if (node.kind != OpKind::kCollective || IsOfHost(node)) return std::nullopt;
  const std::int64_t gpus = node.Int(kGpusAttribute, 1);
  return Collective{.target = node.target,
                    .plan = TextOf(node, kPlanAttribute),
                    .gpus = gpus,
                    .plan_gpus = node.Int(kPlanGpusAttribute, gpus),
                    .bytes = node.Int(kBytesAttribute, 0)};
}

std::vector<CollectiveGroup> GroupsOf(const OperatorGraph& graph) {
  std::vector<CollectiveGroup> groups;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> one = CollectiveOf(node);
    if (!one || std::ranges::count(groups, one->plan, &CollectiveGroup::plan)) {
      continue;
    }
    groups.push_back({.plan = std::string(one->plan), .gpus = one->plan_gpus});
  }
  std::ranges::stable_partition(groups, [](const CollectiveGroup& one) {
    return TraitsOf(one.plan).shares_batch;
  });
  return groups;
}

std::int64_t GpusOf(const std::vector<CollectiveGroup>& groups) {
  std::int64_t gpus = 1;
  for (const CollectiveGroup& one : groups) {
    const bool is_within_other =
        groups.size() > 1 && TraitsOf(one.plan).averages_gradients;
    if (!is_within_other) gpus *= one.gpus;
  }
  return gpus;
}

std::int64_t BatchesOf(const std::vector<CollectiveGroup>& groups) {
  std::int64_t batches = GpusOf(groups);
  for (const CollectiveGroup& one : groups) {
    const PlanTraits traits = TraitsOf(one.plan);
    if (traits.shares_batch && !traits.has_own_batches) batches /= one.gpus;
  }
  return batches;
}

std::optional<SharedLayerCounts> CountSharedLayers(const OperatorGraph& graph) {
  std::optional<SharedLayerCounts> counts;
  for (const Node& node : graph.nodes()) {
    const std::string_view name = TextOf(node, kShareAttribute);
    if (name.empty() || node.phase != Phase::kForward) continue;
    if (!counts) counts.emplace();
    counts->columns += name == kColumnsShare ? 1 : 0;
    counts->rows += name == kRowsShare ? 1 : 0;
    counts->whole += name == kWholeShare ? 1 : 0;
  }
  return counts;
}

}  // namespace foretell
