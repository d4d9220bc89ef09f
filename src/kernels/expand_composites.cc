// Operators that run several kernels.
//
// Some operators call others. Where the trace lists their calls, these are
// expanded as nodes are. What CUDA calls inside of a kernel, where no trace
// sees it, is written down as ATen calls after PyTorch's source, in a graph of
// its own, and that graph is expanded like any other: layouts, products and
// attention follow the same rules whether a network writes the calls or one
// operator hides them. A list of kernels by hand per operator was rejected: it
// would repeat these rules for every precision and layout.

#include "src/kernels/expand_composites.h"

#include <algorithm>
#include <string_view>

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

}  // namespace

bool ExpandCalls(Expansion& expansion, const ExpandedNode& expanded) {
  const Node& node = expanded.node;
  for (const Node& call : node.calls) {
    const bool runs = !call.outputs.empty() && call.kind != OpKind::kCollective;
    if (runs) ExpandNode(expansion, call, expanded.id);
  }
  return !node.calls.empty();
}

bool ExpandComposite(Expansion& expansion, const ExpandedNode& expanded) {
  const Composite* composite = FindComposite(expanded.node.target);
  if (composite == nullptr) return false;
  CompositeSteps steps(expansion, expanded);
  if (!composite->write(steps) || !steps.ReturnsFit()) return false;
  steps.Emit(expansion);
  return true;
}

}  // namespace foretell::cost
