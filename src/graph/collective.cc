#include "src/graph/collective.h"

namespace foretell {

std::optional<Collective> CollectiveOf(const Node& node) {
  if (node.kind != OpKind::kCollective) return std::nullopt;
  const Attribute* plan = node.FindAttribute(kPlanAttribute);
  const auto* text = plan == nullptr ? nullptr : std::get_if<std::string>(plan);
  return Collective{.target = node.target,
                    .plan = text == nullptr ? std::string_view() : *text,
                    .gpus = node.Int(kGpusAttribute, 1),
                    .bytes = node.Int(kBytesAttribute, 0)};
}

std::optional<SharedLayerCounts> CountSharedLayers(const OperatorGraph& graph) {
  std::optional<SharedLayerCounts> counts;
  for (const Node& node : graph.nodes()) {
    const Attribute* share = node.FindAttribute(kShareAttribute);
    if (share == nullptr || node.phase != Phase::kForward) continue;
    if (!counts) counts.emplace();
    const auto& name = std::get<std::string>(*share);
    counts->columns += name == kColumnsShare ? 1 : 0;
    counts->rows += name == kRowsShare ? 1 : 0;
    counts->whole += name == kWholeShare ? 1 : 0;
  }
  return counts;
}

}  // namespace foretell
