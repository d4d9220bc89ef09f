#include <algorithm>
#include <ranges>

#include "src/graph/convolution.h"
#include "src/kernels/expansion.h"

// Which layout an operator needs of its operands, and what has to be copied
// first. The graph records how they lie.
//
// Convolutions need row-major or channels-last images, products any batch that
// folds into one dimension, norms along the last dimension contiguous rows.
// What does not fit is copied inside the operator, without a trace in the
// graph.

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
  const std::int64_t bytes = tensors.Bytes(id);
  const Shape& shape = tensors.ShapeOf(id);
  expansion.kernels.push_back(
      {.kernel_class = KernelClass::kHiddenCopy,
       .node = expanded.id,
       .bytes_in = bytes,
       .bytes_out = bytes,
       .element_bytes_in = width,
       .element_bytes_out = width,
       .inner_extent = LastOf(shape),
       .mixed_layouts = true,
       .transposes = IsTransposed(tensors, id, ContiguousStrides(shape))});
}

LayoutEffect Convolution(Expansion& expansion, const ExpandedNode& expanded) {
  const ValueId input = MainOperand(expansion, expanded);
  const Tensors& tensors = expansion.tensors;
  const auto convolution = ConvolutionOf(expansion.graph, expanded.node);
  const bool channels_last = convolution && convolution->channels_last;
  const bool fits = channels_last ? FitsChannelsLast(tensors.ShapeOf(input),
                                                     tensors.StridesOf(input))
                                  : tensors.IsContiguous(input);
  if (!fits) EmitHiddenCopy(expansion, expanded, input);
  return {.channels_last = channels_last};
}

/// Rows that do not fold are multiplied as a batch of matrices, but where a
/// gradient of the weight is wanted (PyTorch's pull requests 73115 and 76828).
constexpr TorchVersion kMultipliesBatches = {.major = 1, .minor = 12};

/// Dimensions before the last must fold into rows, or be a batch of matrices.
LayoutEffect Linear(Expansion& expansion, const ExpandedNode& expanded) {
  const ValueId input = MainOperand(expansion, expanded);
  const Shape& shape = expansion.tensors.ShapeOf(input);
  const Strides strides = expansion.tensors.StridesOf(input);
  if (shape.size() <= 2) return {};
  const Run& mode = expansion.mode;
  const bool records = mode.mode == Mode::kTraining || mode.grad_mode;
  const bool takes_batches = mode.torch >= kMultipliesBatches && !records;
  const Shape rows = {ProductBefore(shape, 1), shape.back()};
  const bool fits = ViewStrides(shape, strides, rows).has_value() ||
                    (takes_batches && FitsABatchedProduct(shape, strides));
  if (!fits) EmitHiddenCopy(expansion, expanded, input);
  return {};
}

/// Copies those of the first two inputs that are not a batch of matrices.
LayoutEffect Matmul(Expansion& expansion, const ExpandedNode& expanded) {
  for (const ValueId id : expanded.node.inputs | std::views::take(2)) {
    if (!FitsABatchedProduct(expansion.tensors.ShapeOf(id),
                             expansion.tensors.StridesOf(id))) {
      EmitHiddenCopy(expansion, expanded, id);
    }
  }
  return {};
}

LayoutEffect ContiguousNorm(Expansion& expansion,
                            const ExpandedNode& expanded) {
  const ValueId input = MainOperand(expansion, expanded);
  if (!expansion.tensors.IsContiguous(input)) {
    EmitHiddenCopy(expansion, expanded, input);
  }
  return {};
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
    {OpKind::kConvolution, &Convolution},
    {OpKind::kTransposedConvolution, &Convolution},
    {OpKind::kLinear, &Linear},
    {OpKind::kMatmul, &Matmul},
    {OpKind::kLayerNorm, &ContiguousNorm},
    {OpKind::kRmsNorm, &ContiguousNorm},
    {OpKind::kGroupNorm, &ContiguousNorm},
    {OpKind::kSoftmax, &ContiguousNorm},
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

LayoutEffect ExpandLayout(Expansion& expansion, const ExpandedNode& expanded) {
  const OpKind kind = expanded.node.kind;
  if (expanded.operands.empty() || std::ranges::count(kAnyLayout, kind) > 0) {
    return {};
  }
  const auto* const rule =
      std::ranges::find(kLayoutRules, kind, &LayoutRule::kind);
  if (rule == std::end(kLayoutRules)) return Elementwise(expansion, expanded);
  return rule->apply(expansion, expanded);
}

}  // namespace foretell::cost
