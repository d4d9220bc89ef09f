#include <algorithm>
#include <utility>

#include "src/kernels/expansion.h"
#include "src/kernels/view_strides.h"

// Which way the elements of a result lie, and what has to be copied first.
//
// Convolutions hand channels-last images on, element-wise operators the order
// of their first full-size operand, fused attention writes heads innermost
// ([batch, length, heads, size]). Products accept any batch that folds into one
// dimension, norms along the last dimension need contiguous rows. What does not
// fit is copied inside the operator, without a trace in the graph.

namespace foretell::cost {
namespace {

constexpr std::size_t kImageRank = 4;
constexpr std::size_t kMatmulOperands = 2;

/// The operand whose layout decides: the first that is not a weight.
ValueId MainOperand(const Expansion& expansion, const ExpandedNode& expanded) {
  for (const ValueId id : expanded.operands) {
    if (!expansion.tensors.IsWeight(id)) return id;
  }
  return expanded.operands.front();
}

void EmitHiddenCopy(Expansion& expansion, const ExpandedNode& expanded,
                    ValueId id) {
  const TensorStates& tensors = expansion.tensors;
  const std::int64_t width = tensors.ElementBytes(id);
  const std::int64_t bytes = tensors.Bytes(id);
  const Shape& shape = tensors.ShapeOf(id);
  expansion.kernels.push_back({.kernel_class = KernelClass::kHiddenCopy,
                               .node = expanded.id,
                               .bytes_in = bytes,
                               .bytes_out = bytes,
                               .element_bytes_in = width,
                               .element_bytes_out = width,
                               .inner_extent = shape.empty() ? 1 : shape.back(),
                               .mixed_layouts = true});
}

void SetFormat(Expansion& expansion, const Node& node, bool channels_last) {
  for (const ValueId result : node.outputs) {
    const Shape& shape = expansion.tensors.ShapeOf(result);
    expansion.tensors.SetStrides(result, channels_last
                                             ? ChannelsLastStrides(shape)
                                             : ContiguousStrides(shape));
  }
}

/// Whether the convolution's weight is one of the network that was converted to
/// channels-last; one that the network computes, as a standardised weight is,
/// has the format of what computes it.
bool HasChannelsLastWeight(const Expansion& expansion, const Node& node) {
  const ValueId weight = BeforeAutocast(expansion.graph, node.inputs.at(1));
  return expansion.graph.value(weight).producer == kNone
             ? expansion.mode.channels_last
             : expansion.tensors.IsChannelsLast(weight);
}

/// cuDNN works on channels-last images where the input or the weight is so.
LayoutEffect Convolution(Expansion& expansion, const ExpandedNode& expanded) {
  const ValueId input = MainOperand(expansion, expanded);
  const TensorStates& tensors = expansion.tensors;
  const Shape& shape = tensors.ShapeOf(input);
  const bool channels_last = tensors.IsChannelsLast(input) ||
                             (shape.size() == kImageRank &&
                              HasChannelsLastWeight(expansion, expanded.node));
  const bool fits = channels_last
                        ? FitsChannelsLast(shape, tensors.StridesOf(input))
                        : tensors.IsContiguous(input);
  if (!fits) EmitHiddenCopy(expansion, expanded, input);
  SetFormat(expansion, expanded.node, channels_last);
  return {.channels_last = channels_last};
}

/// The dimensions before the matrix must fold into one, and the matrix must be
/// row- or column-major.
bool FitsABatchedProduct(const Shape& shape, const Strides& strides) {
  if (shape.size() < 2) return true;
  const auto rank = static_cast<std::ptrdiff_t>(shape.size());
  const Shape batch(shape.begin(), shape.begin() + rank - 2);
  const Strides steps(strides.begin(), strides.begin() + rank - 2);
  if (batch.size() > 1 && !ViewStrides(batch, steps, {NumElements(batch)})) {
    return false;
  }
  const std::int64_t row = strides[shape.size() - 2];
  const bool is_matrix = row == 1 || strides.back() == 1;
  return is_matrix || shape[shape.size() - 2] * shape.back() <= 1;
}

/// Rows that do not fold are multiplied as a batch of matrices, but where a
/// gradient of the weight is wanted (PyTorch's pull requests 73115 and 76828).
constexpr TorchVersion kMultipliesBatches = {.major = 1, .minor = 12};

/// Dimensions before the last must fold into rows, or be a batch of matrices.
LayoutEffect Linear(Expansion& expansion, const ExpandedNode& expanded) {
  const ValueId input = MainOperand(expansion, expanded);
  const Shape& shape = expansion.tensors.ShapeOf(input);
  const Strides& strides = expansion.tensors.StridesOf(input);
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

/// Copies those of the first `count` inputs that are not a batch of matrices.
void CopyUnfit(Expansion& expansion, const ExpandedNode& expanded,
               std::size_t count) {
  const auto& inputs = expanded.node.inputs;
  for (std::size_t i = 0; i < std::min(count, inputs.size()); ++i) {
    const ValueId id = inputs[i];
    if (!FitsABatchedProduct(expansion.tensors.ShapeOf(id),
                             expansion.tensors.StridesOf(id))) {
      EmitHiddenCopy(expansion, expanded, id);
    }
  }
}

LayoutEffect Matmul(Expansion& expansion, const ExpandedNode& expanded) {
  CopyUnfit(expansion, expanded, kMatmulOperands);
  return {};
}

/// [batch, heads, length, size] over memory [batch, length, heads, size].
LayoutEffect Attention(Expansion& expansion, const ExpandedNode& expanded) {
  const ValueId result = expanded.result();
  const Shape& shape = expansion.tensors.ShapeOf(result);
  if (shape.size() != 4) return {};
  const std::int64_t heads = shape[1];
  const std::int64_t length = shape[2];
  const std::int64_t size = shape[3];
  expansion.tensors.SetStrides(result,
                               {length * heads * size, size, heads * size, 1});
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
  const bool channels_last = expansion.tensors.IsChannelsLast(input);
  if (channels_last) SetFormat(expansion, expanded.node, true);
  return {.channels_last = channels_last};
}

LayoutEffect Concat(Expansion& expansion, const ExpandedNode& expanded) {
  const LayoutEffect effect = KeepsFormat(expansion, expanded);
  const bool mixed =
      std::ranges::any_of(expanded.operands, [&](ValueId operand) {
        return !expansion.tensors.IsWeight(operand) &&
               expansion.tensors.IsChannelsLast(operand) !=
                   effect.channels_last;
      });
  return {.channels_last = effect.channels_last, .mixed = mixed};
}

LayoutEffect Copies(Expansion& expansion, const ExpandedNode& expanded) {
  const ValueId input = MainOperand(expansion, expanded);
  return {.mixed = !expansion.tensors.IsContiguous(input)};
}

LayoutEffect LeavesContiguous(Expansion&, const ExpandedNode&) { return {}; }

/// The first operand as large as the result decides; others in another order,
/// or with gaps, are read across memory.
LayoutEffect Elementwise(Expansion& expansion, const ExpandedNode& expanded) {
  TensorStates& tensors = expansion.tensors;
  const ValueId result = expanded.result();
  const Shape shape = tensors.ShapeOf(result);
  std::optional<Strides> order;
  bool mixed = false;
  for (const ValueId id : expanded.operands) {
    if (shape.empty() || tensors.ShapeOf(id) != shape) continue;
    const Strides dense = DenseStridesLike(shape, tensors.StridesOf(id));
    if (!order) order = dense;
    const bool has_gaps = !HaveSameOrder(shape, dense, tensors.StridesOf(id)) &&
                          !tensors.IsWeight(id);
    mixed = mixed || has_gaps || !HaveSameOrder(shape, dense, *order);
  }
  if (!order) return {};
  tensors.SetStrides(result, *std::move(order));
  return {.channels_last = tensors.IsChannelsLast(result), .mixed = mixed};
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
    {OpKind::kAttention, &Attention},
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
    {OpKind::kGather, &LeavesContiguous},
    {OpKind::kScatter, &LeavesContiguous},
    {OpKind::kEmbedding, &LeavesContiguous},
    {OpKind::kReduce, &LeavesContiguous},
    {OpKind::kArgReduce, &LeavesContiguous},
    {OpKind::kEinsum, &LeavesContiguous},
    {OpKind::kRecurrent, &LeavesContiguous},
    {OpKind::kCumulative, &LeavesContiguous},
    {OpKind::kSort, &LeavesContiguous},
};

}  // namespace

LayoutEffect ExpandLayout(Expansion& expansion, const ExpandedNode& expanded) {
  if (expanded.operands.empty()) return {};
  const auto* const rule =
      std::ranges::find(kLayoutRules, expanded.node.kind, &LayoutRule::kind);
  if (rule == std::end(kLayoutRules)) return Elementwise(expansion, expanded);
  return rule->apply(expansion, expanded);
}

}  // namespace foretell::cost
