#include <algorithm>

#include "src/graph/convolution.h"
#include "src/kernels/expansion.h"
#include "src/kernels/operand_copies.h"

// How an operator's own kernel reads its operands, once it has copied those
// that it cannot read as they lie (operand_copies.h).

namespace foretell::cost {
namespace {

/// The operand whose layout decides: the first that is not a weight.
ValueId MainOperand(const Expansion& expansion, const ExpandedNode& expanded) {
  for (const ValueId id : expanded.operands) {
    if (!expansion.tensors.IsWeight(id)) return id;
  }
  return expanded.operands.front();
}

/// Whether elements of `id` that are next to each other along the dimension in
/// which a result with the strides `order` is dense are apart in memory, and
/// those along another are not.
bool IsTransposed(const Tensors& tensors, ValueId id, const Strides& order) {
  const Shape& shape = tensors.ShapeOf(id);
  const Strides strides = tensors.StridesOf(id);
  bool is_apart = false;
  bool is_dense = false;
  for (std::size_t i = 0; i < std::min(shape.size(), order.size()); ++i) {
    if (shape[i] <= 1) continue;
    is_apart |= order[i] == 1 && strides[i] > 1;
    is_dense |= order[i] != 1 && strides[i] == 1;
  }
  return is_apart && is_dense;
}

void EmitHiddenCopy(Expansion& expansion, const ExpandedNode& expanded,
                    ValueId id) {
  const Tensors& tensors = expansion.tensors;
  const std::int64_t width = tensors.ElementBytes(id);
  const Shape& shape = tensors.ShapeOf(id);
  expansion.kernels.push_back(
      {.kernel_class = KernelClass::kHiddenCopy,
       .node = expanded.id,
       .bytes_in = tensors.Bytes(id),
       .bytes_out = CopyBytes(tensors, id),
       .element_bytes_in = width,
       .element_bytes_out = width,
       .inner_extent = LastOf(shape),
       .mixed_layouts = true,
       .transposes = IsTransposed(tensors, id, ContiguousStrides(shape))});
}

/// Operands are read as kernels want them, once those that lie otherwise have
/// been copied.
LayoutEffect Dense(Expansion& /*expansion*/, const ExpandedNode& /*expanded*/) {
  return {};
}

LayoutEffect ConvolutionFormat(Expansion& expansion,
                               const ExpandedNode& expanded) {
  const auto convolution = ConvolutionOf(expansion.graph, expanded.node);
  return {.channels_last = convolution && convolution->channels_last};
}

LayoutEffect KeepsFormat(Expansion& expansion, const ExpandedNode& expanded) {
  const ValueId input = MainOperand(expansion, expanded);
  return {.channels_last = expansion.tensors.IsChannelsLast(input)};
}

/// Operands that lie in another order, or have gaps, are read element by
/// element (parallel_cat in aten/src/ATen/native/cuda/Shape.cu).
LayoutEffect Concat(Expansion& expansion, const ExpandedNode& expanded) {
  const Tensors& tensors = expansion.tensors;
  const LayoutEffect effect = KeepsFormat(expansion, expanded);
  const bool mixed =
      std::ranges::any_of(expanded.operands, [&](ValueId operand) {
        if (!effect.channels_last) return !tensors.IsContiguous(operand);
        return !tensors.IsWeight(operand) && !tensors.IsChannelsLast(operand);
      });
  return {.channels_last = effect.channels_last, .mixed = mixed};
}

LayoutEffect Copies(Expansion& expansion, const ExpandedNode& expanded) {
  const Tensors& tensors = expansion.tensors;
  const ValueId input = MainOperand(expansion, expanded);
  const bool keeps_shape =
      tensors.ShapeOf(input) == tensors.ShapeOf(expanded.result());
  const Strides order = keeps_shape ? tensors.StridesOf(expanded.result())
                                    : ContiguousStrides(tensors.ShapeOf(input));
  return {.mixed = keeps_shape ? tensors.StridesOf(input) != order
                               : !tensors.IsContiguous(input),
          .transposes = IsTransposed(tensors, input, order)};
}

/// Operands as large as the result that lie in another order, or have gaps, are
/// read across memory.
LayoutEffect Elementwise(Expansion& expansion, const ExpandedNode& expanded) {
  const Tensors& tensors = expansion.tensors;
  const ValueId result = expanded.result();
  const Shape& shape = tensors.ShapeOf(result);
  if (shape.empty()) return {};
  const Strides order = DenseStridesLike(shape, tensors.StridesOf(result));
  const bool mixed = std::ranges::any_of(expanded.operands, [&](ValueId id) {
    if (tensors.ShapeOf(id) != shape) return false;
    const Strides strides = tensors.StridesOf(id);
    // Gaps of a weight do not count.
    const Strides read =
        tensors.IsWeight(id) ? DenseStridesLike(shape, strides) : strides;
    return !HaveSameOrder(shape, read, order);
  });
  const bool transposes =
      std::ranges::any_of(expanded.operands, [&](ValueId id) {
        return tensors.ShapeOf(id) == shape && IsTransposed(tensors, id, order);
      });
  return {.channels_last = tensors.IsChannelsLast(result),
          .mixed = mixed,
          .transposes = transposes};
}

struct LayoutRule {
  OpKind kind;
  LayoutEffect (*apply)(Expansion&, const ExpandedNode&);
};

constexpr LayoutRule kLayoutRules[] = {
    {OpKind::kConvolution, &ConvolutionFormat},
    {OpKind::kTransposedConvolution, &ConvolutionFormat},
    {OpKind::kLinear, &Dense},
    {OpKind::kMatmul, &Dense},
    {OpKind::kLayerNorm, &Dense},
    {OpKind::kRmsNorm, &Dense},
    {OpKind::kGroupNorm, &Dense},
    {OpKind::kSoftmax, &Dense},
    {OpKind::kBatchNorm, &KeepsFormat},
    {OpKind::kMaxPool, &KeepsFormat},
    {OpKind::kAveragePool, &KeepsFormat},
    {OpKind::kUpsample, &KeepsFormat},
    {OpKind::kPad, &KeepsFormat},
    {OpKind::kConcat, &Concat},
    {OpKind::kCopy, &Copies},
    {OpKind::kView, &Copies},
};

/// Kinds that read operands as they lie.
constexpr OpKind kAnyLayout[] = {OpKind::kAttention,  OpKind::kGather,
                                 OpKind::kScatter,    OpKind::kEmbedding,
                                 OpKind::kReduce,     OpKind::kArgReduce,
                                 OpKind::kEinsum,     OpKind::kRecurrent,
                                 OpKind::kCumulative, OpKind::kSort};

}  // namespace

void ExpandResultCopies(Expansion& expansion, const ExpandedNode& expanded) {
  for (const ValueId id : CopiedResults(expansion.graph, expanded.node)) {
    EmitHiddenCopy(expansion, expanded, id);
  }
}

LayoutEffect ExpandLayout(Expansion& expansion, const ExpandedNode& expanded) {
  const OpKind kind = expanded.node.kind;
  const std::vector<OperandCopy> copies =
      OperandCopies(expansion.graph, expanded.node, expansion.mode);
  for (const OperandCopy& copy : copies) {
    EmitHiddenCopy(expansion, expanded, copy.operand);
  }
  if (expanded.operands.empty() || std::ranges::count(kAnyLayout, kind) > 0) {
    return {};
  }
  const auto* const rule =
      std::ranges::find(kLayoutRules, kind, &LayoutRule::kind);
  if (rule == std::end(kLayoutRules)) {
    return copies.empty() ? Elementwise(expansion, expanded) : LayoutEffect();
  }
  return rule->apply(expansion, expanded);
}

}  // namespace foretell::cost
