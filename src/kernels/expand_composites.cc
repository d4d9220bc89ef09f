// Operators that run several kernels.
//
// Some operators call others: attention with its projections, recurrent layers,
// losses, distances. Each is written down as the ATen calls that PyTorch's
// source makes on CUDA, in a graph of its own, and that graph is expanded like
// any other: casts, layouts, products and attention follow the same rules
// whether a network writes the calls or one operator hides them. A list of
// kernels by hand per operator was rejected: it would repeat these rules for
// every precision and layout.

#include "src/kernels/expand_composites.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/kernels/autocast.h"
#include "src/kernels/composites.h"

namespace foretell::cost {
namespace {

const Composite* FindComposite(std::string_view target) {
  for (const auto& family_of : kCompositeFamilies) {
    const std::span<const Composite> family = family_of();
    const auto row = std::ranges::find(family, target, &Composite::target);
    if (row != family.end()) return &*row;
  }
  return nullptr;
}

/// Bytes of an element after casts before the operator; empty without any.
std::optional<std::int64_t> BytesAfterCasts(const Node& node) {
  switch (AutocastRuleOf(node)) {
    case AutocastRule::kHalf:
      return kHalfBytes;
    case AutocastRule::kFloat:
      return kFloatBytes;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool ExpandComposite(Expansion& expansion, ExpandedNode& expanded) {
  const Composite* composite = FindComposite(expanded.node.target);
  if (composite == nullptr) return false;
  const bool casts =
      expansion.mode.autocast && expanded.node.phase == Phase::kForward;
  const bool casts_before =
      casts && composite->casts == CompositeCasts::kBefore;
  const std::optional<std::int64_t> read_as =
      casts_before ? BytesAfterCasts(expanded.node) : std::nullopt;
  CompositeSteps steps(expansion, expanded, read_as);
  if (!composite->write(steps) || !steps.ReturnsFit()) return false;
  if (read_as) ExpandCasts(expansion, expanded);
  steps.Emit(expansion, casts && !read_as);
  return true;
}

}  // namespace foretell::cost
