#include <ATen/ATen.h>

#include <vector>

#include "frontends/onnx/ops/attention.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/microsoft_attention.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

/// Positions of the inputs.
enum GroupedInput : size_t {
  kGroupedQuery,
  kGroupedKey,
  kGroupedValue,
  kGroupedPastKey,
  kGroupedPastValue,
  kGroupedLengths,
  kGroupedTotalLength,
  kGroupedCos,
  kGroupedSin,
  kGroupedPositionIds,
  kGroupedBias,
  kGroupedHeadSink,
};

std::int64_t RequiredInt(const NodeContext& ctx, const char* name) {
  return ctx.RequireAttribute(name, Attribute::Kind::kInt).i;
}

/// Three inputs, or one that holds queries, keys and values side by side.
AttentionRequest GroupedHeadsOf(NodeContext& ctx) {
  const std::int64_t q_heads = RequiredInt(ctx, "num_heads");
  const std::int64_t kv_heads = RequiredInt(ctx, "kv_num_heads");
  const at::Tensor query = ctx.Tensor(kGroupedQuery);
  if (ctx.Has(kGroupedKey)) {
    return {SplitHeads(ctx, query, q_heads),
            SplitHeads(ctx, ctx.Tensor(kGroupedKey), kv_heads),
            SplitHeads(ctx, ctx.Tensor(kGroupedValue), kv_heads)};
  }
  const at::Tensor all = SplitHeads(ctx, query, q_heads + 2 * kv_heads);
  const std::vector<at::Tensor> parts =
      at::split_with_sizes(all, {q_heads, kv_heads, kv_heads}, 1);
  return {parts[0], parts[1], parts[2]};
}

/// Turns queries and keys to their positions, which follow those of the past.
void RotateToPositions(NodeContext& ctx, AttentionRequest& heads,
                       std::int64_t past) {
  if (ctx.IntAttribute("do_rotary", 0) == 0) return;
  const at::Tensor cos = ctx.Tensor(kGroupedCos);
  const std::int64_t sequence = heads.query.size(2);
  const at::Tensor positions =
      ctx.Has(kGroupedPositionIds)
          ? CastTo(ctx.Tensor(kGroupedPositionIds), at::kLong)
          : at::arange(past, past + sequence, cos.options().dtype(at::kLong));
  Rotation rotation{.cos = at::embedding(cos, positions),
                    .sin = at::embedding(ctx.Tensor(kGroupedSin), positions)};
  rotation.is_interleaved = ctx.IntAttribute("rotary_interleaved", 0) != 0;
  heads.query = Rotate(heads.query, rotation);
  heads.key = Rotate(heads.key, rotation);
}

void RefuseWhatIsRare(NodeContext& ctx) {
  if (ctx.IntAttribute("smooth_softmax", 0) > 0) {
    FailAttribute(ctx, "smooth_softmax", "1");
  }
  if (ctx.Has(kGroupedHeadSink)) {
    ctx.Fail(ErrorCode::kUnsupported, "input 'head_sink' is not supported");
  }
}

/// ONNX Runtime writes in place to a cache that is longer than its content;
/// only caches that grow are supported.
void CheckCacheGrows(NodeContext& ctx, std::int64_t past,
                     std::int64_t sequence) {
  if (!ctx.IsHost(kGroupedTotalLength)) return;
  const std::int64_t total = ctx.Int(kGroupedTotalLength);
  if (total == past + sequence) return;
  ctx.Fail(ErrorCode::kUnsupported,
           "total_sequence_length is {}, expected past {} + new {}: a cache "
           "shared by past and present is not supported",
           total, past, sequence);
}

}  // namespace

void LowerGroupQueryAttention(NodeContext& ctx) {
  RefuseWhatIsRare(ctx);
  AttentionRequest request = GroupedHeadsOf(ctx);
  const std::int64_t past =
      ctx.Has(kGroupedPastKey) ? ctx.Tensor(kGroupedPastKey).size(2) : 0;
  CheckCacheGrows(ctx, past, request.query.size(2));
  RotateToPositions(ctx, request, past);
  if (ctx.Has(kGroupedPastKey)) {
    request.key = at::cat({ctx.Tensor(kGroupedPastKey), request.key}, 2);
    request.value = at::cat({ctx.Tensor(kGroupedPastValue), request.value}, 2);
  }
  request.mask = ctx.OptionalTensor(kGroupedBias);
  request.visibility = {.is_causal = true, .offset = past};
  const std::int64_t window = ctx.IntAttribute("local_window_size", -1);
  if (window > 0) request.visibility.left_window = window - 1;
  const double scale = ctx.FloatAttribute("scale", 0);
  if (scale != 0) request.scale = scale;
  const double softcap = ctx.FloatAttribute("softcap", 0);
  const at::Tensor y =
      softcap > 0 ? AttendExplicitly(request, {.softcap = softcap}).output
                  : Attend(request);
  ctx.Set(0, MergeHeads(y));
  ctx.Set(1, request.key);
  ctx.Set(2, request.value);
}

}  // namespace foretell::onnx
