// Attention layers of nn.MultiheadAttention and nn.TransformerEncoderLayer in
// inference: the calls that CUDA's kernels make, and meta tensors do not show
// (aten/src/ATen/native/transformers/cuda/attention.cu and transformer.cpp).
//
//   fused      linear to queries, keys and values at once, fused attention on
//              views of the result, linear
//   otherwise  product with the weight, a kernel that adds the bias, scales the
//              queries and splits the heads, product, softmax, in place unless
//              there is a mask, product, stored over the queries, a copy that
//              merges the heads, linear
//
// Fused is self-attention without a mask whose heads have a multiple of eight
// elements and whose weights the caller does not want.
//
// The weights are [3 * width, width] and [width, width].

#include <ATen/ATen.h>

#include "src/program/meta/attention.h"
#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

/// Operands of an attention layer: `query` [batch, length, width].
struct MultiHeadInputs {
  at::Tensor query, key, value;
  at::Tensor qkv_weight, qkv_bias;
  at::Tensor output_weight, output_bias;
  at::Tensor mask;  ///< Undefined: no mask.
  std::int64_t mask_type = 0;
  std::int64_t heads = 1;
  bool need_weights = false;
  bool average_weights = true;

  bool IsSelfAttention() const {
    return query.is_same(key) && key.is_same(value);
  }
};

struct MultiHeadResults {
  at::Tensor output;   ///< [batch, length, width]
  at::Tensor weights;  ///< Undefined unless they are needed.
};

/// [batch, length, width] as [batch, heads, length, size].
at::Tensor SplitHeads(const at::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads})
      .transpose(1, 2);
}

bool IsFused(const MultiHeadInputs& in) {
  constexpr std::int64_t kHeadMultiple = 8;
  if (!in.IsSelfAttention() || in.need_weights || in.mask.defined() ||
      in.query.size(2) / in.heads % kHeadMultiple != 0) {
    return false;
  }
  const at::Tensor heads = SplitHeads(in.query, in.heads);
  return ChooseAttention({.query = heads, .key = heads, .value = heads}) !=
         AttentionKernel::kMath;
}

at::Tensor AttendFused(const MultiHeadInputs& in) {
  const at::Tensor all = at::linear(in.query, in.qkv_weight, in.qkv_bias);
  const std::vector<at::Tensor> parts = all.chunk(3, -1);
  const at::Tensor attended = at::scaled_dot_product_attention(
      SplitHeads(parts[0], in.heads), SplitHeads(parts[1], in.heads),
      SplitHeads(parts[2], in.heads));
  return at::linear(attended.transpose(1, 2).reshape(in.query.sizes()),
                    in.output_weight, in.output_bias);
}

/// [batch, length, 3 * width], without the bias: a product for each operand
/// that is a tensor of its own.
at::Tensor ProjectAll(const MultiHeadInputs& in) {
  const auto project = [&](const at::Tensor& x, std::int64_t begin,
                           std::int64_t end) {
    const std::int64_t width = in.query.size(2);
    return at::matmul(x,
                      in.qkv_weight.slice(0, begin * width, end * width).t());
  };
  if (in.IsSelfAttention()) return at::matmul(in.query, in.qkv_weight.t());
  if (in.key.is_same(in.value)) {
    return at::cat({project(in.query, 0, 1), project(in.key, 1, 3)}, 2);
  }
  return at::cat(
      {project(in.query, 0, 1), project(in.key, 1, 2), project(in.value, 2, 3)},
      2);
}

/// Batch and heads as one dimension.
at::Tensor Matrices(const at::Tensor& x) {
  return x.view({x.size(0) * x.size(1), x.size(2), x.size(3)});
}

at::Tensor Softmax(const MultiHeadInputs& in, at::Tensor scores) {
  if (!in.mask.defined()) return at::_softmax_out(scores, scores, -1, false);
  return at::_masked_softmax(scores, in.mask.to(at::kBool), scores.dim() - 1,
                             in.mask_type);
}

MultiHeadResults AttendUnfused(const MultiHeadInputs& in) {
  const auto [query, key, value] =
      at::_transform_bias_rescale_qkv(ProjectAll(in), in.qkv_bias, in.heads);
  at::Tensor weights = Softmax(
      in,
      at::bmm(Matrices(query), Matrices(key).transpose(2, 1))
          .view({query.size(0), query.size(1), query.size(2), key.size(2)}));
  at::Tensor attended = Matrices(query);
  at::bmm_out(attended, Matrices(weights), Matrices(value));
  if (!in.need_weights) weights.reset();
  const at::Tensor merged =
      query.permute({0, 2, 1, 3}).contiguous().view(in.query.sizes());
  MultiHeadResults results = {
      .output = at::linear(merged, in.output_weight, in.output_bias),
      .weights = weights};
  if (in.need_weights && in.average_weights) {
    results.weights = weights.sum(1);
    results.weights.div_(in.heads);
  }
  return results;
}

MultiHeadResults Attend(const MultiHeadInputs& in) {
  if (IsFused(in)) return {.output = AttendFused(in), .weights = {}};
  return AttendUnfused(in);
}

void MultiHead(Call& call) {
  const MultiHeadResults results =
      Attend({.query = call.Tensor("query"),
              .key = call.Tensor("key"),
              .value = call.Tensor("value"),
              .qkv_weight = call.Tensor("qkv_weight"),
              .qkv_bias = call.Tensor("qkv_bias"),
              .output_weight = call.Tensor("proj_weight"),
              .output_bias = call.Tensor("proj_bias"),
              .mask = call.TensorOrUndefined("mask"),
              .mask_type = call.Int("mask_type", 0),
              .heads = call.Int("num_head"),
              .need_weights = call.Bool("need_weights", true),
              .average_weights = call.Bool("average_attn_weights", true)});
  call.Return(results.output);
  call.Return(results.weights);
}

at::Tensor Norm(const Call& call, const at::Tensor& x, const char* weight,
                const char* bias) {
  return at::layer_norm(x, {x.size(-1)}, call.Tensor(weight),
                        call.Tensor(bias));
}

/// The first of the two products has its activation in it.
at::Tensor FeedForward(const Call& call, const at::Tensor& x) {
  const at::Tensor hidden = at::_addmm_activation(
      call.Tensor("ffn_bias_1"), x.view({-1, x.size(-1)}),
      call.Tensor("ffn_weight_1").t(), 1, 1, call.Bool("use_gelu", false));
  return at::addmm(call.Tensor("ffn_bias_2"), hidden,
                   call.Tensor("ffn_weight_2").t())
      .view(x.sizes());
}

void EncoderLayer(Call& call) {
  const bool norm_first = call.Bool("norm_first", false);
  const auto first_norm = [&](const at::Tensor& x) {
    return Norm(call, x, "norm_weight_1", "norm_bias_1");
  };
  const auto second_norm = [&](const at::Tensor& x) {
    return Norm(call, x, "norm_weight_2", "norm_bias_2");
  };
  const at::Tensor source = call.Tensor("src");
  at::Tensor x = norm_first ? first_norm(source) : source;
  x = Attend({.query = x,
              .key = x,
              .value = x,
              .qkv_weight = call.Tensor("qkv_weight"),
              .qkv_bias = call.Tensor("qkv_bias"),
              .output_weight = call.Tensor("proj_weight"),
              .output_bias = call.Tensor("proj_bias"),
              .mask = call.TensorOrUndefined("mask"),
              .mask_type = call.Int("mask_type", 0),
              .heads = call.Int("num_heads")})
          .output;
  x.add_(source);
  if (!norm_first) x = first_norm(x);
  const at::Tensor residual = x;
  if (norm_first) x = second_norm(x);
  x = FeedForward(call, x);
  x.add_(residual);
  if (!norm_first) x = second_norm(x);
  call.Return(x);
}

// [batch, length, 3 * heads * size] to three of [batch, heads, length, size]
// in one storage.
void SplitProjected(Call& call) {
  const at::Tensor& qkv = call.Tensor("qkv");
  const std::int64_t heads = call.Int("num_heads");
  const Sizes sizes = {3, qkv.size(0), heads, qkv.size(1),
                       qkv.size(2) / (3 * heads)};
  const at::Tensor all = Allocate(Contiguous(sizes, qkv.scalar_type()));
  for (std::int64_t i = 0; i < 3; ++i) call.Return(all.select(0, i));
}

void MaskedSoftmax(Call& call) { call.Return(Like(call.FirstTensor())); }

constexpr KernelRow kMultiHeadKernels[] = {
    {"_native_multi_head_attention", MultiHead},
    {"_transformer_encoder_layer_fwd", EncoderLayer},
    {"_transform_bias_rescale_qkv", SplitProjected},
    {"_masked_softmax", MaskedSoftmax},
    {"_masked_softmax_backward", MaskedSoftmax},
};

}  // namespace

std::span<const KernelRow> MultiHeadKernels() { return kMultiHeadKernels; }

}  // namespace foretell::meta
