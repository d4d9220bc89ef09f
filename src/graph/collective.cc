#include "src/graph/collective.h"

#include "src/graph/attributes.h"

namespace foretell {

bool IsOfHost(const Node& node) {
  return node.target == kToHost || node.target == kFromHost ||
         node.target == kStepOnHost;
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
