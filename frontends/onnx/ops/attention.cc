#include "frontends/onnx/ops/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

// ---- Attention -------------------------------------------------------------

/// Positions of the inputs and outputs of Attention.
enum AttentionInput : size_t {
  kQuery,
  kKey,
  kValue,
  kMask,
  kPastKey,
  kPastValue,
  kValidKeys,
};
enum AttentionOutput : size_t { kY, kPresentKey, kPresentValue, kScores };

/// Input `i` as [batch, heads, sequence, size].
at::Tensor WithHeads(NodeContext& ctx, size_t i, const char* heads_attribute) {
  const at::Tensor x = ctx.Tensor(i);
  if (x.dim() == 4) return x;
  return SplitHeads(
      ctx, x, ctx.RequireAttribute(heads_attribute, Attribute::Kind::kInt).i);
}

/// Keys or values with those of the cache in front.
at::Tensor WithPast(NodeContext& ctx, size_t past, const at::Tensor& x) {
  return ctx.Has(past) ? at::cat({ctx.Tensor(past), x}, 2) : x;
}

Visibility VisibilityOf(NodeContext& ctx) {
  Visibility visibility;
  visibility.is_causal = ctx.IntAttribute("is_causal", 0) != 0;
  visibility.left_window = ctx.IntAttribute("left_window_size", -1);
  visibility.right_window = ctx.IntAttribute("right_window_size", -1);
  if (ctx.Has(kPastKey)) visibility.offset = ctx.Tensor(kPastKey).size(2);
  if (ctx.Has(kValidKeys)) {
    visibility.valid_keys = CastTo(ctx.Tensor(kValidKeys), at::kLong);
  }
  return visibility;
}

AttentionRequest RequestOf(NodeContext& ctx) {
  ctx.Check(ctx.Has(kPastKey) == ctx.Has(kPastValue),
            "past_key and past_value must be given together");
  AttentionRequest request;
  request.query = WithHeads(ctx, kQuery, "q_num_heads");
  request.key = WithPast(ctx, kPastKey, WithHeads(ctx, kKey, "kv_num_heads"));
  request.value =
      WithPast(ctx, kPastValue, WithHeads(ctx, kValue, "kv_num_heads"));
  request.mask = ctx.OptionalTensor(kMask);
  request.visibility = VisibilityOf(ctx);
  if (ctx.HasAttribute("scale")) {
    request.scale = ctx.FloatAttribute("scale", 1.0);
  }
  const std::int64_t heads = request.query.size(1);
  const std::int64_t shared = request.key.size(1);
  ctx.Check(shared > 0 && heads % shared == 0,
            "{} query heads cannot share {} key heads", heads, shared);
  return request;
}

/// One kernel if it can do what the node needs, which is nearly always.
void LowerAttention(NodeContext& ctx) {
  const AttentionRequest request = RequestOf(ctx);
  const double softcap = ctx.FloatAttribute("softcap", 0);
  at::Tensor y;
  if (softcap == 0 && !ctx.Wants(kScores) &&
      !ctx.HasAttribute("softmax_precision")) {
    y = Attend(request);
  } else {
    ExplicitOptions options{.softcap = softcap};
    options.scores_mode = ctx.IntAttribute("qk_matmul_output_mode", 0);
    if (ctx.HasAttribute("softmax_precision")) {
      options.softmax_type =
          ctx.TypeOf(ctx.IntAttribute("softmax_precision", kOnnxFloat));
    }
    const ExplicitResult result = AttendExplicitly(request, options);
    y = result.output;
    ctx.Set(kScores, result.scores);
  }
  ctx.Set(kY, ctx.Tensor(kQuery).dim() == 3 ? MergeHeads(y) : y);
  ctx.Set(kPresentKey, request.key);
  ctx.Set(kPresentValue, request.value);
}

// ---- FlexAttention ---------------------------------------------------------

/// The scores after the graph that attribute `name` holds, if any.
at::Tensor Modified(NodeContext& ctx, const char* name, const at::Tensor& x) {
  const Attribute* attribute = ctx.FindAttribute(name);
  if (attribute == nullptr) return x;
  const Attribute& body = ctx.RequireAttribute(name, Attribute::Kind::kGraph);
  const std::vector<Value> results = ctx.Run(*body.graphs.front(), {x});
  const auto* y =
      results.size() == 1 ? std::get_if<at::Tensor>(&results[0]) : nullptr;
  ctx.Check(y != nullptr && y->sizes() == x.sizes(),
            "{} does not keep the shape of the scores", name);
  return CastTo(*y, x.scalar_type());
}

/// The softmax runs in at least float32 unless the node says otherwise.
at::ScalarType SoftmaxType(const NodeContext& ctx, at::ScalarType type) {
  if (ctx.HasAttribute("softmax_precision")) {
    return ctx.TypeOf(ctx.IntAttribute("softmax_precision", kOnnxFloat));
  }
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

void LowerFlexAttention(NodeContext& ctx) {
  const at::Tensor query = ctx.Tensor(kQuery);
  ctx.Check(query.dim() == 4, "Q has rank {}, expected 4", query.dim());
  const double size = static_cast<double>(query.size(3));
  const double root =
      std::sqrt(ctx.FloatAttribute("scale", 1 / std::sqrt(size)));
  const auto shared = [&](size_t i) {
    const at::Tensor x = ctx.Tensor(i);
    const std::int64_t heads = x.dim() == 4 ? x.size(1) : 0;
    ctx.Check(heads > 0 && query.size(1) % heads == 0,
              "the heads of Q are not a multiple of those of K and V");
    return heads == query.size(1)
               ? x
               : x.repeat_interleave(query.size(1) / heads, 1);
  };
  const at::ScalarType type = SoftmaxType(ctx, query.scalar_type());
  const at::Tensor products =
      at::matmul(query * root, shared(kKey).transpose(2, 3) * root);
  const at::Tensor scores = Modified(ctx, "score_mod", CastTo(products, type));
  const at::Tensor probabilities =
      Modified(ctx, "prob_mod", at::softmax(scores, -1));
  const at::Tensor value = CastTo(shared(kValue), type);
  ctx.Set(kY, CastTo(at::matmul(probabilities, value), query.scalar_type()));
}

// ---- RotaryEmbedding -------------------------------------------------------

/// Rows of a cache [positions, half] for [batch, sequence] positions.
at::Tensor AtPositions(const at::Tensor& cache, const at::Tensor& positions) {
  return at::embedding(cache, CastTo(positions, at::kLong));
}

void LowerRotaryEmbedding(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  Rotation rotation{.cos = ctx.Tensor(1), .sin = ctx.Tensor(2)};
  rotation.is_interleaved = ctx.IntAttribute("interleaved", 0) != 0;
  if (ctx.Has(3)) {
    const at::Tensor positions = ctx.Tensor(3);
    rotation.cos = AtPositions(rotation.cos, positions);
    rotation.sin = AtPositions(rotation.sin, positions);
  }
  const at::Tensor heads =
      x.dim() == 4 ? x : SplitHeads(ctx, x, ctx.IntAttribute("num_heads", 0));
  const std::int64_t rotated = ctx.IntAttribute("rotary_embedding_dim", 0);
  const std::int64_t expected = (rotated == 0 ? heads.size(3) : rotated) / 2;
  ctx.Check(rotation.cos.size(-1) == expected, "cos_cache has {}, expected {}",
            Counted(rotation.cos.size(-1), "column"), expected);
  const at::Tensor y = Rotate(heads, rotation);
  ctx.Set(0, x.dim() == 4 ? y : MergeHeads(y));
}

constexpr OnnxOperator kAttentionOperators[] = {
    {"Attention", {23, kAny}, &LowerAttention},  // 24: valid keys; 25: windows
    {"FlexAttention", {1, kAny}, &LowerFlexAttention, "ai.onnx.preview"},
    {"LinearAttention", {27, kAny}, &LowerLinearAttention},
    {"RotaryEmbedding", {23, kAny}, &LowerRotaryEmbedding},
};

}  // namespace

std::span<const OnnxOperator> AttentionOperators() {
  return kAttentionOperators;
}

}  // namespace foretell::onnx
