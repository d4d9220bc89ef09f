#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/split_with_sizes.h>

#include <string>
#include <vector>

#include "frontends/onnx/ops/attention.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/microsoft_attention.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

/// Positions of the inputs.
enum Input : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotalLength,
  kCos,
  kSin,
  kPositionIds,
  kBias,
  kHeadSink,
};

struct Heads {
  at::Tensor query, key, value;  ///< [batch, heads, sequence, size].
};

std::int64_t RequiredInt(const NodeContext& ctx, const char* name) {
  return ctx.RequireAttribute(name, Attribute::Kind::kInt).i;
}

/// Three inputs, or one that holds queries, keys and values side by side.
Heads HeadsOf(NodeContext& ctx) {
  const std::int64_t q_heads = RequiredInt(ctx, "num_heads");
  const std::int64_t kv_heads = RequiredInt(ctx, "kv_num_heads");
  const at::Tensor query = ctx.Tensor(kQuery);
  if (ctx.Has(kKey)) {
    return {SplitHeads(ctx, query, q_heads),
            SplitHeads(ctx, ctx.Tensor(kKey), kv_heads),
            SplitHeads(ctx, ctx.Tensor(kValue), kv_heads)};
  }
  const at::Tensor all = SplitHeads(ctx, query, q_heads + 2 * kv_heads);
  const std::vector<at::Tensor> parts =
      at::split_with_sizes(all, {q_heads, kv_heads, kv_heads}, 1);
  return {parts[0], parts[1], parts[2]};
}

/// Turns queries and keys to their positions, which follow those of the past.
void RotateToPositions(NodeContext& ctx, Heads& heads, std::int64_t past) {
  if (ctx.IntAttribute("do_rotary", 0) == 0) return;
  const at::Tensor cos = ctx.Tensor(kCos);
  const std::int64_t sequence = heads.query.size(2);
  const at::Tensor positions =
      ctx.Has(kPositionIds)
          ? CastTo(ctx.Tensor(kPositionIds), at::kLong)
          : at::arange(past, past + sequence, cos.options().dtype(at::kLong));
  Rotation rotation{.cos = at::embedding(cos, positions),
                    .sin = at::embedding(ctx.Tensor(kSin), positions)};
  rotation.is_interleaved = ctx.IntAttribute("rotary_interleaved", 0) != 0;
  heads.query = Rotate(heads.query, rotation);
  heads.key = Rotate(heads.key, rotation);
}

void RefuseWhatIsRare(NodeContext& ctx) {
  if (ctx.IntAttribute("smooth_softmax", 0) > 0) {
    FailAttribute(ctx, "smooth_softmax", "1");
  }
  if (ctx.Has(kHeadSink)) {
    ctx.Fail(ErrorCode::kUnsupported, "input 'head_sink' is not supported");
  }
}

/// A cache longer than what it holds is written in place by ONNX Runtime; only
/// caches that grow are supported.
void CheckCacheGrows(NodeContext& ctx, std::int64_t past,
                     std::int64_t sequence) {
  if (!ctx.IsHost(kTotalLength)) return;
  const std::int64_t total = ctx.Int(kTotalLength);
  if (total == past + sequence) return;
  ctx.Fail(ErrorCode::kUnsupported,
           "total_sequence_length " + std::to_string(total) + " is not past " +
               std::to_string(past) + " + new " + std::to_string(sequence) +
               ": a cache shared by past and present is not supported");
}

}  // namespace

void LowerGroupQueryAttention(NodeContext& ctx) {
  RefuseWhatIsRare(ctx);
  Heads heads = HeadsOf(ctx);
  const std::int64_t past =
      ctx.Has(kPastKey) ? ctx.Tensor(kPastKey).size(2) : 0;
  CheckCacheGrows(ctx, past, heads.query.size(2));
  RotateToPositions(ctx, heads, past);
  AttentionRequest request;
  request.query = heads.query;
  request.key = heads.key;
  request.value = heads.value;
  if (ctx.Has(kPastKey)) {
    request.key = at::cat({ctx.Tensor(kPastKey), heads.key}, 2);
    request.value = at::cat({ctx.Tensor(kPastValue), heads.value}, 2);
  }
  request.mask = ctx.OptionalTensor(kBias);
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
