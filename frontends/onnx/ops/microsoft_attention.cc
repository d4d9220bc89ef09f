#include "frontends/onnx/ops/microsoft_attention.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <vector>

#include "frontends/onnx/ops/attention.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {

std::int64_t HeadsOf(const NodeContext& ctx) {
  return ctx.RequireAttribute("num_heads", Attribute::Kind::kInt).i;
}

std::vector<std::int64_t> ProjectionSizes(const NodeContext& ctx,
                                          std::int64_t columns) {
  const std::vector<std::int64_t> sizes = ctx.IntsAttribute(
      "qkv_hidden_sizes", {columns / 3, columns / 3, columns / 3});
  ctx.Check(sizes.size() == 3 && sizes[0] + sizes[1] + sizes[2] == columns,
            "qkv_hidden_sizes do not add up to the {} of the weights",
            Counted(columns, "column"));
  return sizes;
}

at::Tensor WithBias(NodeContext& ctx, size_t i, std::int64_t first) {
  const at::Tensor x = ctx.Tensor(i);
  if (!ctx.Has(3)) return x;
  return x + at::slice(ctx.Tensor(3), 0, first, first + x.size(-1));
}

namespace {

/// Throws kUnsupported when input `i` is given.
void Refuse(const NodeContext& ctx, size_t i, const char* name) {
  if (ctx.Has(i)) {
    ctx.Fail(ErrorCode::kUnsupported, "input '{}' is not supported", name);
  }
}

// ---- Masks -----------------------------------------------------------------

/// True where key j of a batch element exists, [batch, 1, 1, keys], from
/// lengths, or from ends followed by starts.
at::Tensor FromLengths(const NodeContext& ctx, const at::Tensor& lengths,
                       std::int64_t batch, std::int64_t num_keys) {
  const std::int64_t given = lengths.numel() / std::max<std::int64_t>(batch, 1);
  ctx.Check(lengths.numel() == given * batch && (given == 1 || given == 2),
            "a mask of {} lengths does not fit batch {}", lengths.numel(),
            batch);
  const at::Tensor key = at::arange(num_keys, lengths.options());
  const auto column = [&](std::int64_t first) {
    return at::slice(lengths, 0, first, first + batch).reshape({-1, 1, 1, 1});
  };
  const at::Tensor before_end = at::lt(key, column(0));
  if (given == 1) return before_end;
  return at::logical_and(before_end, at::ge(key, column(batch)));
}

/// Where the queries (the last of all positions) may look, broadcastable to
/// [batch, heads, queries, keys].
at::Tensor VisibleByMask(const NodeContext& ctx, const at::Tensor& mask,
                         const AttentionRequest& request) {
  const std::int64_t num_keys = request.key.size(2);
  const std::int64_t num_queries = request.query.size(2);
  switch (mask.dim()) {
    case 1:
      return FromLengths(ctx, mask, request.query.size(0), num_keys);
    case 2:
      return CastTo(mask, at::kBool).unsqueeze(1).unsqueeze(1);
    case 3:
      return CastTo(mask, at::kBool).unsqueeze(1);
    case 4: {
      const at::Tensor rows =
          at::slice(mask, 2, num_keys - num_queries, num_keys);
      return CastTo(at::slice(rows, 3, 0, num_keys), at::kBool);
    }
    default:
      ctx.Fail(ErrorCode::kCorrupt, "the mask has rank {}, expected 1 to 4",
               mask.dim());
  }
}

/// The request's mask: large negative numbers that hide keys, plus the bias of
/// the scores. Either may be absent.
at::Tensor AdditiveMask(NodeContext& ctx, size_t mask_input, size_t bias_input,
                        const AttentionRequest& request) {
  constexpr double kDefaultFilter = -10000.0;
  const at::Tensor bias = ctx.OptionalTensor(bias_input);
  if (!ctx.Has(mask_input)) return bias;
  const at::Tensor visible =
      VisibleByMask(ctx, ctx.Tensor(mask_input), request);
  const double filter = ctx.FloatAttribute("mask_filter_value", kDefaultFilter);
  const at::Tensor hidden =
      at::where(visible, at::Scalar(0.0), at::Scalar(filter))
          .to(request.query.scalar_type());
  return bias.defined() ? hidden + bias : hidden;
}

/// Attributes that both operators have, and the result in output 0.
void Finish(NodeContext& ctx, AttentionRequest& request, std::int64_t past) {
  request.visibility.is_causal = ctx.IntAttribute("unidirectional", 0) != 0;
  request.visibility.offset = past;
  const double scale = ctx.FloatAttribute("scale", 0);
  if (scale != 0) request.scale = scale;
  ctx.Set(0, MergeHeads(Attend(request)));
}

// ---- MultiHeadAttention ----------------------------------------------------

/// Item `i` of [batch, sequence, heads, items, size].
at::Tensor Unpacked(const at::Tensor& packed, std::int64_t i) {
  return packed.select(3, i).transpose(1, 2);
}

AttentionRequest ProjectionsOf(NodeContext& ctx) {
  const std::int64_t heads = HeadsOf(ctx);
  const at::Tensor query = ctx.Tensor(0);
  if (query.dim() == 5) {
    Refuse(ctx, 3, "bias");
    return {Unpacked(query, 0), Unpacked(query, 1), Unpacked(query, 2)};
  }
  AttentionRequest p;
  p.query = SplitHeads(ctx, WithBias(ctx, 0, 0), heads);
  const at::Tensor key = ctx.Tensor(1);
  if (key.dim() == 5) {
    p.key = Unpacked(key, 0);
    p.value = Unpacked(key, 1);
  } else if (key.dim() == 4) {
    p.key = key;
    p.value = ctx.Tensor(2);
  } else {
    const std::int64_t width = query.size(2);
    p.key = SplitHeads(ctx, WithBias(ctx, 1, width), heads);
    p.value = SplitHeads(ctx, WithBias(ctx, 2, width + key.size(2)), heads);
  }
  return p;
}

// ---- RotaryEmbedding -------------------------------------------------------

/// Rows of a cache [positions, half] for a sequence that starts at the single
/// position given, or for [batch, sequence] positions.
at::Tensor RowsAt(const at::Tensor& cache, const at::Tensor& positions,
                  std::int64_t sequence) {
  const at::Tensor index = CastTo(positions, at::kLong);
  if (index.numel() != 1 || index.dim() != 1)
    return at::embedding(cache, index);
  return at::embedding(cache, at::arange(sequence, index.options()) + index);
}

}  // namespace

void AttendProjected(NodeContext& ctx, const at::Tensor& projected,
                     const AttentionPlaces& places) {
  const std::vector<at::Tensor> parts = at::split_with_sizes(
      projected, ProjectionSizes(ctx, projected.size(-1)), -1);
  const std::int64_t heads = HeadsOf(ctx);
  AttentionRequest request;
  request.query = SplitHeads(ctx, parts[0], heads);
  request.key = SplitHeads(ctx, parts[1], heads);
  request.value = SplitHeads(ctx, parts[2], heads);
  std::int64_t past = 0;
  if (ctx.Has(places.past)) {  // [2, batch, heads, past, size]
    const at::Tensor cache = ctx.Tensor(places.past);
    past = cache.size(3);
    request.key = at::cat({cache.select(0, 0), request.key}, 2);
    request.value = at::cat({cache.select(0, 1), request.value}, 2);
  }
  if (ctx.Wants(1)) ctx.Set(1, at::stack({request.key, request.value}));
  request.mask = AdditiveMask(ctx, places.mask, places.bias, request);
  Finish(ctx, request, past);
}

void LowerMicrosoftAttention(NodeContext& ctx) {
  Refuse(ctx, 6, "past_sequence_length");
  if (ctx.IntAttribute("do_rotary", 0) != 0)
    FailAttribute(ctx, "do_rotary", "1");
  const at::Tensor projected =
      at::linear(ctx.Tensor(0), ctx.Tensor(1).t(), ctx.OptionalTensor(2));
  AttendProjected(ctx, projected, {.mask = 3, .past = 4, .bias = 5});
}

void LowerMultiHeadAttention(NodeContext& ctx) {
  Refuse(ctx, 8, "past_sequence_length");
  Refuse(ctx, 9, "cache_indirection");
  AttentionRequest request = ProjectionsOf(ctx);
  std::int64_t past = 0;
  if (ctx.Has(6)) {
    const at::Tensor past_key = ctx.Tensor(6);
    past = past_key.size(2);
    request.key = at::cat({past_key, request.key}, 2);
    request.value = at::cat({ctx.Tensor(7), request.value}, 2);
  }
  ctx.Set(1, request.key);
  ctx.Set(2, request.value);
  request.mask = AdditiveMask(ctx, 4, 5, request);
  Finish(ctx, request, past);
}

void LowerMicrosoftRotaryEmbedding(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor positions = ctx.Tensor(1);
  if (ctx.FloatAttribute("scale", 1.0) != 1.0) {
    FailAttribute(ctx, "scale",
                  fmt::format("{:f}", ctx.FloatAttribute("scale", 1.0)));
  }
  if (ctx.IntAttribute("is_packed_batching", 0) != 0) {
    FailAttribute(ctx, "is_packed_batching", "1");
  }
  const std::int64_t sequence = x.dim() == 4 ? x.size(2) : x.size(1);
  Rotation rotation{.cos = RowsAt(ctx.Tensor(2), positions, sequence),
                    .sin = RowsAt(ctx.Tensor(3), positions, sequence)};
  rotation.is_interleaved = ctx.IntAttribute("interleaved", 0) != 0;
  if (x.dim() == 4) {
    ctx.Set(0, Rotate(x, rotation));
    return;
  }
  const std::int64_t named = ctx.IntAttribute("num_heads", 0);
  const std::int64_t size = 2 * rotation.cos.size(-1);
  const std::int64_t heads = named > 0 ? named : x.size(2) / size;
  ctx.Set(0, MergeHeads(Rotate(SplitHeads(ctx, x, heads), rotation)));
}

}  // namespace foretell::onnx
