#include <ATen/ATen.h>
#include <fmt/core.h>

#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/activation.h"
#include "frontends/onnx/ops/convolution.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/matrix.h"
#include "frontends/onnx/ops/microsoft_attention.h"
#include "frontends/onnx/ops/normalization.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

// ---- Activations -----------------------------------------------------------

void LowerPlainGelu(NodeContext& ctx) { ctx.Set(0, at::gelu(ctx.Tensor(0))); }

void LowerBiasGelu(NodeContext& ctx) {
  ctx.Set(0, at::gelu(ctx.Tensor(0) + ctx.Tensor(1)));
}

void LowerFastGelu(NodeContext& ctx) {
  at::Tensor x = ctx.Tensor(0);
  if (ctx.Has(1)) x = x + ctx.Tensor(1);
  ctx.Set(0, at::gelu(x, "tanh"));
}

void LowerQuickGelu(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  ctx.Set(0, x * at::sigmoid(x * ctx.FloatAttribute("alpha", 1.702)));
}

void LowerBiasSplitGelu(NodeContext& ctx) {
  const std::vector<at::Tensor> halves =
      at::chunk(ctx.Tensor(0) + ctx.Tensor(1), 2, -1);
  ctx.Set(0, halves[0] * at::gelu(halves[1]));
}

void LowerBiasAdd(NodeContext& ctx) {
  ctx.Set(0, ctx.Tensor(0) + ctx.Tensor(1) + ctx.Tensor(2));
}

// ---- Normalizations --------------------------------------------------------

/// Default `epsilon` of the fused normalizations.
constexpr double kFusedEpsilon = 1e-12;

/// The sum of what is normalized, which is output 3.
at::Tensor WithSkip(NodeContext& ctx, size_t bias_input) {
  at::Tensor sum = ctx.Tensor(0) + ctx.Tensor(1);
  if (ctx.Has(bias_input)) sum = sum + ctx.Tensor(bias_input);
  ctx.Set(3, sum);
  return sum;
}

void LowerPlainLayerNormalization(NodeContext& ctx) {
  LayerNormalize(ctx, ctx.Tensor(0), {ctx.Tensor(1), ctx.OptionalTensor(2)});
}

void LowerSimplifiedLayerNormalization(NodeContext& ctx) {
  RmsNormalize(ctx, ctx.Tensor(0), ctx.Tensor(1), {.inverse_output = 1});
}

void LowerSkipLayerNormalization(NodeContext& ctx) {
  LayerNormalize(ctx, WithSkip(ctx, 4), {ctx.Tensor(2), ctx.OptionalTensor(3)},
                 {.default_epsilon = kFusedEpsilon});
}

void LowerSkipSimplifiedLayerNormalization(NodeContext& ctx) {
  RmsNormalize(ctx, WithSkip(ctx, 3), ctx.Tensor(2),
               {.default_epsilon = kFusedEpsilon});
}

/// Channels last; `activation` 1 is SiLU.
void GroupNormalize(NodeContext& ctx, const at::Tensor& x) {
  const bool channels_last = ctx.IntAttribute("channels_last", 1) != 0;
  at::Tensor y = at::group_norm(
      channels_last ? x.movedim(-1, 1) : x,
      ctx.RequireAttribute("groups", Attribute::Kind::kInt).i,
      CastTo(ctx.Tensor(1), x.scalar_type()),
      CastTo(ctx.Tensor(2), x.scalar_type()),
      ctx.FloatAttribute("epsilon", 1e-5), /*cudnn_enabled=*/true);
  const std::int64_t activation = ctx.IntAttribute("activation", 0);
  if (activation != 0 && activation != 1) {
    FailAttribute(ctx, "activation", fmt::format("{}", activation));
  }
  if (activation == 1) y = at::silu(y);
  ctx.Set(0, channels_last ? y.movedim(1, -1) : y);
}

void LowerGroupNorm(NodeContext& ctx) { GroupNormalize(ctx, ctx.Tensor(0)); }

/// Of the sum with a tensor alike, or one for each image, and a bias; the sum
/// is output 1.
void LowerSkipGroupNorm(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  at::Tensor skip = ctx.Tensor(3);
  if (skip.dim() == 2) skip = skip.unsqueeze(1).unsqueeze(1);
  at::Tensor sum = x + skip;
  if (ctx.Has(4)) sum = sum + ctx.Tensor(4);
  ctx.Set(1, sum);
  GroupNormalize(ctx, sum);
}

// ---- EmbedLayerNormalization -----------------------------------------------

/// Positions of the inputs.
enum EmbedInput : size_t {
  kInputIds,
  kSegmentIds,
  kWords,
  kPositions,
  kSegments,
  kGamma,
  kBeta,
  kWordMask,
  kWordPositionIds,
};

at::Tensor Embedded(NodeContext& ctx, size_t table, size_t ids) {
  return at::embedding(ctx.Tensor(table), CastTo(ctx.Tensor(ids), at::kLong));
}

/// Words plus positions (in order where none are given) plus segments.
at::Tensor SumOfEmbeddings(NodeContext& ctx) {
  const at::Tensor words = Embedded(ctx, kWords, kInputIds);
  at::Tensor sum =
      words + (ctx.Has(kWordPositionIds)
                   ? Embedded(ctx, kPositions, kWordPositionIds)
                   : at::slice(ctx.Tensor(kPositions), 0, 0, words.size(1)));
  if (ctx.Has(kSegmentIds)) sum = sum + Embedded(ctx, kSegments, kSegmentIds);
  return sum;
}

void LowerEmbedLayerNormalization(NodeContext& ctx) {
  const at::Tensor sum = SumOfEmbeddings(ctx);
  // Its outputs 1 and 2 are not statistics.
  constexpr size_t kNone = 99;
  LayerNormalize(ctx, sum, {ctx.Tensor(kGamma), ctx.Tensor(kBeta)},
                 {.default_epsilon = kFusedEpsilon,
                  .mean_output = kNone,
                  .inverse_output = kNone});
  if (ctx.Wants(1)) {
    const at::Tensor lengths =
        ctx.Has(kWordMask)
            ? at::sum(ctx.Tensor(kWordMask), 1, /*keepdim=*/false, at::kInt)
            : at::zeros({sum.size(0)}, sum.options().dtype(at::kInt));
    ctx.Set(1, lengths);
  }
  ctx.Set(2, sum);
}

// ---- Products and convolutions ---------------------------------------------

/// transBatch* moves the first dimension before the last of the matrix.
at::Tensor Factor(NodeContext& ctx, size_t i, const char* transposes,
                  const char* transposes_batch) {
  at::Tensor x = ctx.Tensor(i);
  if (ctx.IntAttribute(transposes_batch, 0) != 0) x = x.movedim(0, -2);
  if (ctx.IntAttribute(transposes, 0) != 0 && x.dim() >= 2) {
    x = x.transpose(-2, -1);
  }
  return x;
}

void LowerFusedMatMul(NodeContext& ctx) {
  const at::Tensor product =
      at::matmul(Factor(ctx, 0, "transA", "transBatchA"),
                 Factor(ctx, 1, "transB", "transBatchB"));
  const double alpha = ctx.FloatAttribute("alpha", 1.0);
  ctx.Set(0, alpha == 1.0 ? product : product * alpha);
}

void LowerGemmFastGelu(NodeContext& ctx) {
  at::Tensor product = at::matmul(ctx.Tensor(0), ctx.Tensor(1));
  if (ctx.Has(2)) product = product + ctx.Tensor(2);
  ctx.Set(0, at::gelu(product, "tanh"));
}

void LowerFusedGemm(NodeContext& ctx) {
  const std::string name = ctx.StringAttribute("activation", "");
  std::vector<double> parameters;
  for (const char* parameter : {"activation_alpha", "activation_beta"}) {
    if (!ctx.HasAttribute(parameter)) break;
    parameters.push_back(ctx.FloatAttribute(parameter, 0));
  }
  ctx.Set(0, ApplyActivation(ctx, name, Gemm(ctx), parameters));
}

/// A fourth input is added before the activation.
void LowerFusedConv(NodeContext& ctx) {
  at::Tensor y = ConvolveInputs(ctx);
  if (ctx.Has(3)) y = y + ctx.Tensor(3);
  const std::string name = ctx.StringAttribute("activation", "");
  ctx.Set(0, name.empty() ? y
                          : ApplyActivation(
                                ctx, name, y,
                                ctx.FloatsAttribute("activation_params", {})));
}

/// Images and weights [M, kH, kW, C / group] with their channels last, as the
/// optimizer of Stable Diffusion writes them (fusion_nhwc_conv.py).
void LowerNhwcConv(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0).movedim(-1, 1);
  const at::Tensor weight = ViewOfWeight(
      ctx.Tensor(1),
      [](const at::Tensor& stored) { return stored.movedim(-1, 1); });
  const std::int64_t groups = ctx.IntAttribute("group", 1);
  const Window window = ReadWindow(
      ctx, ctx.IntsAttribute("kernel_shape", weight.sizes().slice(2).vec()),
      x.sizes().slice(2).vec());
  const at::Tensor y =
      Convolve(ctx, x, weight, ctx.OptionalTensor(2), window, groups);
  ctx.Set(0, y.movedim(1, -1));
}

constexpr OnnxOperator kMicrosoftOperators[] = {
    {"Attention", {1, kAny}, &LowerMicrosoftAttention, kMicrosoft},
    {"BiasAdd", {1, kAny}, &LowerBiasAdd, kMicrosoft},
    {"BiasGelu", {1, kAny}, &LowerBiasGelu, kMicrosoft},
    {"BiasSplitGelu", {1, kAny}, &LowerBiasSplitGelu, kMicrosoft},
    {"EmbedLayerNormalization",
     {1, kAny},
     &LowerEmbedLayerNormalization,
     kMicrosoft},
    {"FastGelu", {1, kAny}, &LowerFastGelu, kMicrosoft},
    {"FusedConv", {1, kAny}, &LowerFusedConv, kMicrosoft},
    {"FusedGemm", {1, kAny}, &LowerFusedGemm, kMicrosoft},
    {"FusedMatMul", {1, kAny}, &LowerFusedMatMul, kMicrosoft},
    {"Gelu", {1, kAny}, &LowerPlainGelu, kMicrosoft},
    {"GemmFastGelu", {1, kAny}, &LowerGemmFastGelu, kMicrosoft},
    {"GroupNorm", {1, kAny}, &LowerGroupNorm, kMicrosoft},
    {"GroupQueryAttention", {1, kAny}, &LowerGroupQueryAttention, kMicrosoft},
    {"LayerNormalization",
     {1, kAny},
     &LowerPlainLayerNormalization,
     kMicrosoft},
    {"MultiHeadAttention", {1, kAny}, &LowerMultiHeadAttention, kMicrosoft},
    {"NhwcConv", {1, kAny}, &LowerNhwcConv, kMicrosoft},
    {"PackedAttention", {1, kAny}, &LowerPackedAttention, kMicrosoft},
    {"PackedMultiHeadAttention",
     {1, kAny},
     &LowerPackedMultiHeadAttention,
     kMicrosoft},
    {"QuickGelu", {1, kAny}, &LowerQuickGelu, kMicrosoft},
    {"RemovePadding", {1, kAny}, &LowerRemovePadding, kMicrosoft},
    {"RestorePadding", {1, kAny}, &LowerRestorePadding, kMicrosoft},
    {"RotaryEmbedding", {1, kAny}, &LowerMicrosoftRotaryEmbedding, kMicrosoft},
    {"SimplifiedLayerNormalization",
     {1, kAny},
     &LowerSimplifiedLayerNormalization,
     kMicrosoft},
    {"SkipGroupNorm", {1, kAny}, &LowerSkipGroupNorm, kMicrosoft},
    {"SkipLayerNormalization",
     {1, kAny},
     &LowerSkipLayerNormalization,
     kMicrosoft},
    {"SkipSimplifiedLayerNormalization",
     {1, kAny},
     &LowerSkipSimplifiedLayerNormalization,
     kMicrosoft},
    {"TransposeMatMul", {1, kAny}, &LowerFusedMatMul, kMicrosoft},
};

}  // namespace

std::span<const OnnxOperator> MicrosoftOperators() {
  return kMicrosoftOperators;
}

}  // namespace foretell::onnx
