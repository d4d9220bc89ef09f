#include <algorithm>

#include "src/kernels/autocast.h"
#include "src/kernels/expansion.h"

// Casts of automatic mixed precision. Sources are f32. An activation is cast
// for every operator that wants it in another type, since nothing remembers the
// result; a parameter is cast to f16 once per step and remembered. The backward
// pass runs outside of the region: its operators have the type of the gradient
// that they are given.

namespace foretell::cost {
namespace {

/// Floating-point operands of the node.
std::vector<ValueId> FloatOperands(const Expansion& expansion,
                                   const ExpandedNode& expanded) {
  std::vector<ValueId> floats;
  for (const ValueId id : expanded.operands) {
    if (expansion.tensors.IsFloat(id)) floats.push_back(id);
  }
  return floats;
}

void EmitCast(Expansion& expansion, NodeId node, ValueId id,
              KernelClass kernel_class) {
  const bool is_weight = kernel_class == KernelClass::kCastWeight;
  const bool down = kernel_class != KernelClass::kCastUp;
  const std::int64_t elements = expansion.tensors.Elements(id);
  const std::int64_t from = down ? kFloatBytes : kHalfBytes;
  const std::int64_t to = down ? kHalfBytes : kFloatBytes;
  expansion.kernels.push_back({.kernel_class = kernel_class,
                               .node = node,
                               .bytes_in = is_weight ? 0 : from * elements,
                               .bytes_weight = is_weight ? from * elements : 0,
                               .bytes_out = to * elements,
                               .element_bytes_in = from,
                               .element_bytes_out = to});
}

void CastDown(Expansion& expansion, NodeId node, ValueId id) {
  if (expansion.tensors.ElementBytes(id) != kFloatBytes) return;
  if (!expansion.tensors.IsWeight(id)) {
    EmitCast(expansion, node, id, KernelClass::kCastDown);
  } else if (expansion.cast_weights.insert(expansion.graph.value(id).storage)
                 .second) {
    EmitCast(expansion, node, id, KernelClass::kCastWeight);
  }
}

void CastUp(Expansion& expansion, NodeId node, ValueId id) {
  const bool is_half = expansion.tensors.ElementBytes(id) == kHalfBytes;
  if (is_half && !expansion.tensors.IsWeight(id)) {
    EmitCast(expansion, node, id, KernelClass::kCastUp);
  }
}

std::int64_t FirstBytes(const Expansion& expansion,
                        const std::vector<ValueId>& floats) {
  return floats.empty() ? kFloatBytes
                        : expansion.tensors.ElementBytes(floats.front());
}

/// The widest operand with dimensions; scalars decide among themselves.
std::int64_t PromotedBytes(const Expansion& expansion,
                           const std::vector<ValueId>& floats) {
  std::int64_t widest = 0;
  std::int64_t widest_scalar = 0;
  for (const ValueId id : floats) {
    const bool is_scalar = expansion.tensors.ShapeOf(id).empty();
    std::int64_t& most = is_scalar ? widest_scalar : widest;
    most = std::max(most, expansion.tensors.ElementBytes(id));
  }
  if (widest > 0) return widest;
  return widest_scalar > 0 ? widest_scalar : kFloatBytes;
}

void SetResults(Expansion& expansion, const Node& node, std::int64_t bytes) {
  for (const ValueId result : node.outputs) {
    if (expansion.tensors.IsFloat(result)) {
      expansion.tensors.SetElementBytes(result, bytes);
    }
  }
}

}  // namespace

bool ExpandTracedCast(Expansion& expansion, const Node& node, NodeId id) {
  if (!IsAutocastCast(node)) return false;
  TensorStates& tensors = expansion.tensors;
  const ValueId from = node.inputs.front();
  const ValueId to = node.outputs.front();
  const bool down = tensors.ElementBytes(to) < tensors.ElementBytes(from);
  EmitCast(expansion, id, from,
           !down                    ? KernelClass::kCastUp
           : tensors.IsWeight(from) ? KernelClass::kCastWeight
                                    : KernelClass::kCastDown);
  if (tensors.ShapeOf(to) == tensors.ShapeOf(from)) {
    tensors.SetStrides(to, tensors.StridesOf(from));
  }
  return true;
}

void ExpandCasts(Expansion& expansion, ExpandedNode& expanded) {
  if (!expansion.mode.autocast && !expansion.cast_to) return;
  const Node& node = expanded.node;
  const std::vector<ValueId> floats = FloatOperands(expansion, expanded);
  if (expansion.cast_to) {
    return SetResults(
        expansion, node,
        floats.empty() ? *expansion.cast_to : FirstBytes(expansion, floats));
  }
  if (node.phase != Phase::kForward) {
    return SetResults(expansion, node, FirstBytes(expansion, floats));
  }
  switch (AutocastRuleOf(node, expansion.mode)) {
    case AutocastRule::kHalf:
      for (const ValueId id : floats) CastDown(expansion, expanded.id, id);
      expanded.read_as = kHalfBytes;
      return SetResults(expansion, node, kHalfBytes);
    case AutocastRule::kFloat:
      for (const ValueId id : floats) CastUp(expansion, expanded.id, id);
      expanded.read_as = kFloatBytes;
      return SetResults(expansion, node, kFloatBytes);
    case AutocastRule::kFloatInside:
      return SetResults(expansion, node, kFloatBytes);
    case AutocastRule::kAsFirst:
      return SetResults(expansion, node, FirstBytes(expansion, floats));
    case AutocastRule::kPromote:
      return SetResults(expansion, node, PromotedBytes(expansion, floats));
  }
}

}  // namespace foretell::cost
