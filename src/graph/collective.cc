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

}  // namespace foretell
