#include "src/network/network_kind.h"

#include <algorithm>

namespace foretell::learned {

std::string_view NetworkKindName(const NetworkKind& kind) {
  if (kind.terms) return TermSetName(*kind.terms);
  return std::ranges::find(kLayerKinds, kind.layer, &LayerKindRow::layer)->name;
}

std::optional<NetworkKind> ParseNetworkKind(std::string_view name) {
  const auto* row = std::ranges::find(kLayerKinds, name, &LayerKindRow::name);
  if (row != kLayerKinds.end()) return NetworkKind{.layer = row->layer};
  const std::optional<TermSet> terms = ParseTermSet(name);
  if (!terms) return std::nullopt;
  return NetworkKind{.terms = terms};
}

}  // namespace foretell::learned
