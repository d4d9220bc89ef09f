// Operators that run several kernels.
//
// Some operators call others. Where the trace lists their calls, these are
// expanded as nodes are. What cuDNN does inside of a recurrent layer no trace
// shows: it is written down as ATen calls, in a graph of its own, and that
// graph is expanded like any other, so that layouts and products follow the
// same rules.

#include "src/kernels/expand_composites.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "foretell/error.h"
#include "src/core/checked.h"
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

/// Launches `kernel` of `call` that many times.
void Repeat(Kernel& kernel, const Node& call, std::int64_t times) {
  const std::optional<std::int64_t> count = CheckedMul(kernel.count, times);
  if (!count) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("operator {} calls {} {} times, {} kernels each: "
                            "all launches exceed int64",
                            kernel.node, call.target, times, kernel.count));
  }
  kernel.count = *count;
}

}  // namespace

bool ExpandCalls(Expansion& expansion, const ExpandedNode& expanded) {
  const Node& node = expanded.node;
  std::vector<Kernel>& kernels = expansion.kernels;
  for (const Node& call : node.calls) {
    const std::size_t first = kernels.size();
    const bool runs = !call.outputs.empty() && call.kind != OpKind::kCollective;
    if (runs) ExpandNode(expansion, call, expanded.id);
    const std::int64_t times = call.Int(kTimesAttribute, 1);
    for (std::size_t i = first; i < kernels.size(); ++i) {
      Repeat(kernels[i], call, times);
    }
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
