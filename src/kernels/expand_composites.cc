// Operators that run several kernels.
//
// Some operators call others. Where the trace lists their calls, these are
// expanded as nodes are. What CUDA calls inside of a kernel, where no trace
// sees it, is written down as ATen calls after PyTorch's source, in a graph of
// its own, and that graph is expanded like any other: casts, layouts, products
// and attention follow the same rules whether a network writes the calls or one
// operator hides them. A list of kernels by hand per operator was rejected: it
// would repeat these rules for every precision and layout.

#include "src/kernels/expand_composites.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/kernels/autocast.h"
#include "src/kernels/composites.h"
#include "src/kernels/einsum_product.h"

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

/// Products that are not in autocast's lists: their calls cast, each by its own
/// rule.
constexpr std::string_view kCastInside[] = {
    "bilinear",     "ger",   "kron",      "linalg_matrix_power",
    "matrix_power", "outer", "tensordot",
};

/// Under autocast that the graph does not show, an explicit equation of two
/// operands is one product, without the copies: the shipped models of latency
/// learned it so, and err a little more with them.
bool IsLearnedAsOne(const Expansion& expansion, const Node& node) {
  return node.kind == OpKind::kEinsum && expansion.mode.autocast &&
         EinsumProduct(expansion.graph, node).has_value();
}

/// Lets an operator's calls read its operands, and memory that it makes for
/// itself, with elements of `bytes`.
class CastOperands {
 public:
  CastOperands(Expansion& expansion, const ExpandedNode& expanded,
               std::int64_t bytes)
      : expansion_(expansion), caller_(expanded.id) {
    for (const ValueId id : expanded.operands) Cast(id, bytes);
    for (const Node& call : expanded.node.calls) {
      for (const ValueId id : call.inputs) {
        if (expansion_.graph.value(id).producer == expanded.id) Cast(id, bytes);
      }
    }
    expansion_.cast_to = bytes;
  }
  ~CastOperands() {
    for (const auto& [id, bytes] : before_) {
      expansion_.tensors.SetElementBytes(id, bytes);
    }
    expansion_.cast_to.reset();
  }
  CastOperands(const CastOperands&) = delete;
  CastOperands& operator=(const CastOperands&) = delete;

 private:
  void Cast(ValueId id, std::int64_t bytes) {
    if (!expansion_.tensors.IsFloat(id)) return;
    if (expansion_.graph.value(id).producer != caller_) {
      before_.emplace_back(id, expansion_.tensors.ElementBytes(id));
    }
    expansion_.tensors.SetElementBytes(id, bytes);
  }

  Expansion& expansion_;
  NodeId caller_;
  std::vector<std::pair<ValueId, std::int64_t>> before_;  ///< Of operands.
};

}  // namespace

bool ExpandCalls(Expansion& expansion, ExpandedNode& expanded) {
  const Node& node = expanded.node;
  if (node.calls.empty() || IsLearnedAsOne(expansion, node)) return false;
  const bool autocasts = expansion.mode.autocast;
  const bool casts_before =
      autocasts && node.phase == Phase::kForward &&
      std::ranges::find(kCastInside, node.target) == std::end(kCastInside);
  const std::optional<std::int64_t> read_as =
      casts_before ? BytesAfterCasts(node) : std::nullopt;
  std::optional<CastOperands> cast;
  if (read_as) {
    ExpandCasts(expansion, expanded);
    cast.emplace(expansion, expanded, *read_as);
    expansion.mode.autocast = false;
  }
  for (const Node& call : node.calls) {
    const bool runs = !call.outputs.empty() && call.kind != OpKind::kCollective;
    if (runs) ExpandNode(expansion, call, expanded.id);
  }
  expansion.mode.autocast = autocasts;
  return true;
}

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
