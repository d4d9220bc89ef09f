#include <ATen/ATen.h>

#include <vector>

#include "frontends/onnx/ops/attention.h"
#include "frontends/onnx/ops/microsoft_attention.h"

// Batches without their padding: the tokens of all sequences, one after the
// other. How many there are depends on data, so every sequence counts as full:
// memory and time are upper bounds.

namespace foretell::onnx {
namespace {

constexpr size_t kTokenOffset = 4;  ///< [batch, sequence].

/// [tokens, …] → [batch, sequence, …], by the offsets of the tokens.
at::Tensor Unpacked(NodeContext& ctx, const at::Tensor& packed, size_t offset) {
  const at::Tensor offsets = ctx.Tensor(offset);
  ctx.Check(offsets.dim() == 2 && offsets.numel() == packed.size(0),
            "{} tokens do not fill {} places", packed.size(0), offsets.numel());
  std::vector<std::int64_t> sizes = packed.sizes().vec();
  sizes.insert(sizes.begin(), offsets.size(0));
  sizes[1] = offsets.size(1);
  return packed.view(sizes);
}

/// [tokens, heads, 3, size] plus input 3, the bias [3, heads, size] of all
/// projections, if that is given.
at::Tensor WithPackedBias(NodeContext& ctx, const at::Tensor& packed) {
  if (!ctx.Has(3)) return packed;
  const at::Tensor bias = ctx.Tensor(3);
  const std::int64_t width = packed.size(1) * packed.size(3);
  ctx.Check(bias.numel() == packed.size(2) * width,
            "a bias of {} elements for 3 projections of {}", bias.numel(),
            width);
  return packed + bias.view({packed.size(2), packed.size(1), packed.size(3)})
                      .transpose(0, 1);
}

/// Attends and gives the tokens in output 0.
void Finish(NodeContext& ctx, AttentionRequest request, size_t bias) {
  request.mask = ctx.OptionalTensor(bias);
  const double scale = ctx.FloatAttribute("scale", 0);
  if (scale != 0) request.scale = scale;
  ctx.Set(0, MergeHeads(Attend(request)).flatten(0, 1));
}

}  // namespace

void LowerRemovePadding(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  ctx.Check(x.dim() == 3, "the input has rank {}, expected 3", x.dim());
  const std::int64_t length = x.size(1);
  const std::int64_t tokens = x.size(0) * length;
  const at::TensorOptions options = x.options().dtype(at::kInt);
  ctx.Set(0, x.flatten(0, 1));
  ctx.Set(1, at::arange(tokens, options).view({x.size(0), length}));
  ctx.Set(2, at::arange(0, tokens + 1, length, options));
  ctx.Set(3, at::full({1}, length, options));
}

void LowerRestorePadding(NodeContext& ctx) {
  ctx.Set(0, Unpacked(ctx, ctx.Tensor(0), 1));
}

void LowerPackedAttention(NodeContext& ctx) {
  const at::Tensor projected =
      at::linear(ctx.Tensor(0), ctx.Tensor(1).t(), ctx.OptionalTensor(2));
  const std::vector<at::Tensor> parts =
      at::split_with_sizes(Unpacked(ctx, projected, 3),
                           ProjectionSizes(ctx, projected.size(-1)), -1);
  const std::int64_t heads = HeadsOf(ctx);
  AttentionRequest request;
  request.query = SplitHeads(ctx, parts[0], heads);
  request.key = SplitHeads(ctx, parts[1], heads);
  request.value = SplitHeads(ctx, parts[2], heads);
  Finish(ctx, request, 5);
}

void LowerPackedMultiHeadAttention(NodeContext& ctx) {
  const std::int64_t heads = HeadsOf(ctx);
  const at::Tensor query = ctx.Tensor(0);
  AttentionRequest request;
  if (query.dim() == 4) {  // [tokens, heads, 3, size]
    const at::Tensor all =
        Unpacked(ctx, WithPackedBias(ctx, query), kTokenOffset);
    request.query = all.select(3, 0).transpose(1, 2);
    request.key = all.select(3, 1).transpose(1, 2);
    request.value = all.select(3, 2).transpose(1, 2);
  } else {
    const auto part = [&](size_t i, std::int64_t first) {
      return SplitHeads(
          ctx, Unpacked(ctx, WithBias(ctx, i, first), kTokenOffset), heads);
    };
    const std::int64_t width = query.size(-1);
    request.query = part(0, 0);
    request.key = part(1, width);
    request.value = part(2, 2 * width);
  }
  Finish(ctx, request, 6);
}

}  // namespace foretell::onnx
