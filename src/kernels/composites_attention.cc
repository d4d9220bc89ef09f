#include "src/graph/attributes.h"
#include "src/graph/fused_attention.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Attention blocks of nn.MultiheadAttention and nn.TransformerEncoderLayer in
// inference (aten/src/ATen/native/transformers/cuda/attention.cu and
// transformer.cpp, 2.13).
//
//   fused      linear to queries, keys and values at once, fused attention on
//              views of the result, linear
//   otherwise  product with the weight, a kernel that adds the bias, scales the
//              queries and splits the heads, product, softmax (with the mask),
//              product, a copy that merges the heads, linear
//
// Fused is self-attention since 2.0 whose heads have a multiple of eight
// elements and whose weights the caller does not want.

namespace foretell::cost {
namespace {

/// Operands of an attention block; widths in elements.
struct Block {
  ValueId query, key, value;
  ValueId qkv_weight, qkv_bias, projection_weight, projection_bias;
  std::optional<ValueId> mask;
  std::int64_t heads;
  bool need_weights;
  bool average_weights;
};

struct BlockResult {
  ValueId output;
  std::optional<ValueId> weights;
};

bool IsUnderstood(CompositeSteps& steps, const Block& block) {
  const std::int64_t width = steps.Size(block.query, -1);
  const Shape shape = steps.ShapeOf(block.query);
  return shape.size() == 3 && block.heads > 0 && width % block.heads == 0 &&
         steps.ShapeOf(block.key) == shape &&
         steps.ShapeOf(block.value) == shape &&
         steps.ShapeOf(block.qkv_weight) == Shape{3 * width, width} &&
         steps.ShapeOf(block.projection_weight) == Shape{width, width};
}

bool IsFused(CompositeSteps& steps, const Block& block) {
  return FusesMultiHead(steps.torch().Generation(),
                        {.is_self_attention = block.query == block.key &&
                                              block.key == block.value,
                         .head_size = steps.Size(block.query, -1) / block.heads,
                         .need_weights = block.need_weights});
}

ValueId Fused(CompositeSteps& steps, const Block& block) {
  const Shape shape = steps.ShapeOf(block.query);
  const std::int64_t size = shape[2] / block.heads;
  const ValueId all =
      Linear(steps, block.query, block.qkv_weight, block.qkv_bias);
  std::vector<ValueId> operands;
  for (int i = 0; i < 3; ++i) {
    const ValueId part = Slice(steps, all, 2, shape[2]);
    const ValueId heads =
        steps.View("view", part, {shape[0], shape[1], block.heads, size});
    operands.push_back(Transpose(steps, heads, 1, 2));
  }
  if (block.mask) operands.push_back(*block.mask);
  const ValueId attended =
      steps.Call("scaled_dot_product_attention", std::move(operands),
                 {shape[0], block.heads, shape[1], size});
  const ValueId merged =
      Reshape(steps, Transpose(steps, attended, 1, 2), shape);
  return Linear(steps, merged, block.projection_weight, block.projection_bias);
}

/// [batch, length, 3 * width], without the bias.
ValueId ProjectQkv(CompositeSteps& steps, const Block& block) {
  const std::int64_t width = steps.Size(block.query, -1);
  if (block.key == block.value && block.query == block.key) {
    return Linear(steps, block.query, block.qkv_weight);
  }
  std::vector<ValueId> parts = {block.query, block.key};
  std::vector<std::int64_t> rows = {width, 2 * width};
  if (block.key != block.value) {
    parts.push_back(block.value);
    rows = {width, width, width};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] =
        Linear(steps, parts[i], Slice(steps, block.qkv_weight, 0, rows[i]));
  }
  Shape shape = steps.ShapeOf(block.query);
  shape.back() = 3 * width;
  return steps.Call("cat", std::move(parts), std::move(shape));
}

ValueId Softmax(CompositeSteps& steps, const Block& block, ValueId scores) {
  const Shape shape = steps.ShapeOf(scores);
  if (!block.mask) return steps.Call("_softmax", {scores}, shape);
  ValueId mask = *block.mask;
  if (steps.TypeOf(mask) != DType::kBool) {
    mask = steps.Call("to", {mask}, steps.ShapeOf(mask), {}, DType::kBool);
  }
  return steps.Call("_masked_softmax", {scores, mask}, shape);
}

BlockResult Unfused(CompositeSteps& steps, const Block& block) {
  const Shape shape = steps.ShapeOf(block.query);
  const std::int64_t size = shape[2] / block.heads;
  const Shape by_head = {shape[0], block.heads, shape[1], size};
  const ValueId qkv = ProjectQkv(steps, block);
  const ValueId query =
      steps.Call("_transform_bias_rescale_qkv", {qkv, block.qkv_bias}, by_head);
  const ValueId key = steps.AlsoReturns(by_head);
  const ValueId value = steps.AlsoReturns(by_head);
  const ValueId scores =
      Product(steps, "matmul", query, Transpose(steps, key, 2, 3));
  const ValueId weights = Softmax(steps, block, scores);
  const ValueId attended = Product(steps, "matmul", weights, value);
  const ValueId merged = steps.Call("clone", {Transpose(steps, attended, 1, 2)},
                                    {shape[0], shape[1], block.heads, size});
  const ValueId output = Linear(steps, steps.View("view", merged, shape),
                                block.projection_weight, block.projection_bias);
  if (!block.need_weights) return {output, std::nullopt};
  if (!block.average_weights) return {output, weights};
  return {output, steps.InPlace("div_", {Reduce(steps, "sum", weights, {1})})};
}

BlockResult Attend(CompositeSteps& steps, const Block& block) {
  if (IsFused(steps, block)) return {Fused(steps, block), std::nullopt};
  return Unfused(steps, block);
}

bool MultiHeadAttention(CompositeSteps& steps) {
  constexpr std::size_t kMask = 7;
  if (steps.num_operands() < kMask) return false;
  Block block = {
      .query = steps.Operand(0),
      .key = steps.Operand(1),
      .value = steps.Operand(2),
      .qkv_weight = steps.Operand(3),
      .qkv_bias = steps.Operand(4),
      .projection_weight = steps.Operand(5),
      .projection_bias = steps.Operand(6),
      .mask = {},
      .heads = steps.node().Int("num_head", 0),
      .need_weights = FlagOf(steps.node(), "need_weights", true),
      .average_weights = FlagOf(steps.node(), "average_attn_weights", true)};
  if (steps.num_operands() > kMask) block.mask = steps.Operand(kMask);
  if (!IsUnderstood(steps, block)) return false;
  const BlockResult result = Attend(steps, block);
  steps.Return(result.output);
  const bool returns_weights = steps.node().outputs.size() > 1;
  if (result.weights && returns_weights) steps.Return(*result.weights);
  return true;
}

/// First layer of the feed-forward part with its activation, which cuBLASLt
/// computes on the way out.
ValueId FeedForward(CompositeSteps& steps, ValueId input, std::size_t first) {
  const Shape shape = steps.ShapeOf(input);
  const auto transposed = [&](std::size_t index) {
    return Transpose(steps, steps.Operand(index), 0, 1);
  };
  const std::int64_t rows = shape[0] * shape[1];
  const ValueId flat = steps.View("view", input, {rows, shape[2]});
  const ValueId hidden = steps.Call(
      "_addmm_activation", {steps.Operand(first + 1), flat, transposed(first)},
      {rows, steps.Size(steps.Operand(first), 0)});
  const ValueId output = steps.Call(
      "addmm", {steps.Operand(first + 3), hidden, transposed(first + 2)},
      {rows, steps.Size(steps.Operand(first + 2), 0)});
  return steps.View("view", output, shape);
}

constexpr std::size_t kNorm1 = 5;
constexpr std::size_t kNorm2 = 7;
constexpr std::size_t kFeedForward = 9;
constexpr std::size_t kLayerMask = 13;

/// The attention of an encoder layer over `x`.
Block BlockOfLayer(CompositeSteps& steps, ValueId x) {
  Block block = {.query = x,
                 .key = x,
                 .value = x,
                 .qkv_weight = steps.Operand(1),
                 .qkv_bias = steps.Operand(2),
                 .projection_weight = steps.Operand(3),
                 .projection_bias = steps.Operand(4),
                 .mask = {},
                 .heads = steps.node().Int("num_heads", 0),
                 .need_weights = false,
                 .average_weights = true};
  if (steps.num_operands() > kLayerMask) block.mask = steps.Operand(kLayerMask);
  return block;
}

ValueId Norm(CompositeSteps& steps, ValueId x, std::size_t first) {
  return steps.Call("layer_norm",
                    {x, steps.Operand(first), steps.Operand(first + 1)},
                    steps.ShapeOf(x));
}

bool EncoderLayer(CompositeSteps& steps) {
  if (steps.num_operands() < kLayerMask) return false;
  const bool norm_first = FlagOf(steps.node(), "norm_first");
  const ValueId source = steps.Operand(0);
  ValueId x = norm_first ? Norm(steps, source, kNorm1) : source;
  const Block block = BlockOfLayer(steps, x);
  const bool has_matrices = steps.RankOf(steps.Operand(kFeedForward)) == 2 &&
                            steps.RankOf(steps.Operand(kFeedForward + 2)) == 2;
  if (!has_matrices || !IsUnderstood(steps, block)) return false;
  x = steps.InPlace("add_", {Attend(steps, block).output, source});
  if (!norm_first) x = Norm(steps, x, kNorm1);
  const ValueId residual = x;
  if (norm_first) x = Norm(steps, x, kNorm2);
  x = steps.InPlace("add_", {FeedForward(steps, x, kFeedForward), residual});
  if (!norm_first) x = Norm(steps, x, kNorm2);
  steps.Return(x);
  return true;
}

constexpr Composite kAttentionComposites[] = {
    {"_native_multi_head_attention", &MultiHeadAttention},
    {"_transformer_encoder_layer_fwd", &EncoderLayer},
};

}  // namespace

std::span<const Composite> AttentionComposites() {
  return kAttentionComposites;
}

}  // namespace foretell::cost
