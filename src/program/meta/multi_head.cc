// Attention layers of nn.MultiheadAttention and nn.TransformerEncoderLayer in
// inference, with what they hold for a moment
// (aten/src/ATen/native/transformers/cuda/attention.cu and transformer.cpp;
// the steps of src/kernels/composites_attention.cc).
//
//   fused      queries, keys and values as one tensor; attended; output
//   otherwise  the same tensor; split into heads, then freed; scores, whose
//              softmax is computed in place unless there is a mask; attended
//              values, stored over the queries; those merged; output
//
// The weights are [3 * width, width] and [width, width].

#include <optional>

#include "src/graph/fused_attention.h"
#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"
#include "src/program/meta/torch_scope.h"

namespace foretell::meta {
namespace {

/// Operands of an attention layer: `query` [batch, length, width].
struct MultiHeadInputs {
  at::Tensor query;
  std::int64_t keys = 0;  ///< Length of the keys.
  std::int64_t heads = 1;
  bool is_self_attention = true;
  bool has_mask = false;
  bool need_weights = false;
};

/// Allocates what the layer holds, in its order; only the output is kept.
class MultiHeadLayer {
 public:
  explicit MultiHeadLayer(const MultiHeadInputs& in)
      : in_(in),
        dtype_(in.query.scalar_type()),
        batch_(in.query.size(0)),
        length_(in.query.size(1)),
        width_(in.query.size(2)) {}

  at::Tensor Attend() const { return IsFused() ? Fused() : Unfused(); }

 private:
  bool IsFused() const {
    return FusesMultiHead(TorchScope::Generation(),
                          {.is_self_attention = in_.is_self_attention,
                           .head_size = width_ / in_.heads,
                           .need_weights = in_.need_weights});
  }

  at::Tensor Fused() const {
    const at::Tensor projected = New({batch_, length_, 3 * width_});
    const at::Tensor attended = New({batch_, length_, width_});
    return New({batch_, length_, width_});
  }

  at::Tensor Unfused() const {
    at::Tensor projected = New({batch_, length_, 3 * width_});
    const at::Tensor split =
        New({3, batch_, in_.heads, length_, width_ / in_.heads});
    projected.reset();
    at::Tensor scores = New({batch_, in_.heads, length_, in_.keys});
    if (in_.has_mask) scores = New({batch_, in_.heads, length_, in_.keys});
    if (!in_.need_weights) scores.reset();
    const at::Tensor merged = New({batch_, length_, width_});
    return New({batch_, length_, width_});
  }

  at::Tensor New(const Sizes& sizes) const {
    return Allocate(Contiguous(sizes, dtype_));
  }

  const MultiHeadInputs& in_;
  at::ScalarType dtype_;
  std::int64_t batch_, length_, width_;
};

MultiHeadInputs ReadMultiHead(const Call& call) {
  const at::Tensor& query = call.Tensor("query");
  const at::Tensor& key = call.Tensor("key");
  return {.query = query,
          .keys = key.size(1),
          .heads = call.Int("num_head"),
          .is_self_attention =
              query.is_same(key) && key.is_same(call.Tensor("value")),
          .has_mask = call.Has("mask"),
          .need_weights = call.Bool("need_weights", true)};
}

void MultiHead(Call& call) {
  const MultiHeadInputs in = ReadMultiHead(call);
  call.Return(MultiHeadLayer(in).Attend());
  if (!in.need_weights) return call.Return(at::Tensor());
  Sizes weights = {in.query.size(0), in.query.size(1), in.keys};
  if (!call.Bool("average_attn_weights", true)) {
    weights.insert(weights.begin() + 1, in.heads);
  }
  call.Return(Contiguous(weights, in.query.scalar_type()));
}

at::Tensor NormOf(const at::Tensor& x) { return Allocate(Like(x)); }

/// Two products with the hidden layer between them.
at::Tensor FeedForward(const Call& call, const at::Tensor& x) {
  Sizes sizes = x.sizes().vec();
  sizes.back() = call.Tensor("ffn_weight_1").size(0);
  const at::Tensor hidden = Allocate(Contiguous(sizes, x.scalar_type()));
  return Allocate(Like(x));
}

// Sums are computed in place.
void EncoderLayer(Call& call) {
  const at::Tensor source = call.Tensor("src");
  const bool norm_first = call.Bool("norm_first", false);
  at::Tensor x = norm_first ? NormOf(source) : source;
  x = MultiHeadLayer({.query = x,
                      .keys = x.size(1),
                      .heads = call.Int("num_heads"),
                      .has_mask = call.Has("mask")})
          .Attend();
  if (!norm_first) x = NormOf(x);
  const at::Tensor residual = x;
  if (norm_first) x = NormOf(x);
  x = FeedForward(call, x);
  if (!norm_first) x = NormOf(x);
  call.Return(x);
}

// [batch, length, 3 * heads * size] to three of [batch, heads, length, size]
// in one storage.
void SplitHeads(Call& call) {
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
    {"_transform_bias_rescale_qkv", SplitHeads},
    {"_masked_softmax", MaskedSoftmax},
    {"_masked_softmax_backward", MaskedSoftmax},
};

}  // namespace

std::span<const KernelRow> MultiHeadKernels() { return kMultiHeadKernels; }

}  // namespace foretell::meta
