#include "datasets/zoo/delta_net.h"

#include <ATen/Functions.h>

#include <array>
#include <cmath>
#include <vector>

#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kDeltaEpsilon = 1e-6;
constexpr std::int64_t kChunk = 64;  ///< Tokens that run at once.

/// A convolution's weight as a module of the name that adapters know.
class KernelHolder final : public torch::nn::Module {
 public:
  explicit KernelHolder(at::IntArrayRef sizes)
      : weight(register_parameter("weight", at::zeros(sizes))) {}

  at::Tensor weight;
};

at::Tensor UnitLength(const at::Tensor& x) {
  at::Tensor scale = (x * x).sum(-1, /*keepdim=*/true);
  scale = at::rsqrt(scale + kDeltaEpsilon);
  return x * scale;
}

/// [batch, tokens, heads, …] as f32[batch, heads, padded tokens, …].
at::Tensor ByHead(const at::Tensor& x, std::int64_t padding) {
  const at::Tensor y = x.transpose(1, 2).contiguous().to(at::kFloat);
  if (y.dim() == 3) return at::constant_pad_nd(y, {0, padding});
  return at::constant_pad_nd(y, {0, 0, 0, padding});
}

/// [batch, heads, tokens, …] as [batch, heads, chunks, kChunk, …].
at::Tensor Chunked(const at::Tensor& x) {
  std::vector<std::int64_t> sizes = {x.size(0), x.size(1), -1, kChunk};
  if (x.dim() == 4) sizes.push_back(x.size(3));
  return x.reshape(sizes);
}

at::Tensor UpperTriangle(const at::Tensor& x, std::int64_t diagonal) {
  return at::ones({kChunk, kChunk}, x.options().dtype(at::kBool))
      .triu(diagonal);
}

/// Solves each chunk's triangular system row by row, in place.
void SolveChunks(at::Tensor& scores) {
  for (std::int64_t i = 1; i < kChunk; ++i) {
    const at::Tensor place = scores.select(-2, i).narrow(-1, 0, i);
    const at::Tensor row = place.clone();
    const at::Tensor above = scores.narrow(-2, 0, i).narrow(-1, 0, i).clone();
    at::Tensor sum = row.unsqueeze(-1) * above;
    sum = sum.sum(-2);
    place.copy_(row + sum);
  }
}

struct DeltaInputs {
  at::Tensor query;  ///< f32[batch, heads, chunks, kChunk, width] each.
  at::Tensor key;
  at::Tensor value;
  at::Tensor decayed_key;
  at::Tensor decay;  ///< Logarithms, f32[batch, heads, chunks, kChunk].
  at::Tensor decay_mask;
};

/// Chunk after chunk, each with the state that the one before left.
at::Tensor RunChunks(const DeltaInputs& in) {
  at::Tensor state = at::zeros(
      {in.key.size(0), in.key.size(1), in.key.size(4), in.value.size(4)},
      in.value.options());
  const at::Tensor out = at::zeros_like(in.value);
  const at::Tensor later = UpperTriangle(in.query, 1);
  for (std::int64_t i = 0; i < in.key.size(2); ++i) {
    const at::Tensor q = in.query.select(2, i);
    const at::Tensor k = in.key.select(2, i);
    const at::Tensor g = in.decay.select(2, i);
    at::Tensor scores = at::matmul(q, k.transpose(-1, -2));
    scores = scores * in.decay_mask.select(2, i);
    scores = scores.masked_fill_(later, 0);
    const at::Tensor known = at::matmul(in.decayed_key.select(2, i), state);
    const at::Tensor fresh = in.value.select(2, i) - known;
    at::Tensor y = q * g.unsqueeze(-1).exp();
    y = at::matmul(y, state);
    out.select(2, i).copy_(y + at::matmul(scores, fresh));
    const at::Tensor last = g.select(-1, kChunk - 1).unsqueeze(-1);
    state = state * last.unsqueeze(-1).exp();
    at::Tensor weighted = (last - g).exp().unsqueeze(-1);
    weighted = k * weighted;
    state = state + at::matmul(weighted.transpose(-1, -2), fresh);
  }
  return out;
}

/// torch_chunk_gated_delta_rule: query, key and value [batch, tokens, heads,
/// width], g and beta [batch, tokens, heads]; returns what value is.
at::Tensor DeltaRule(const std::array<at::Tensor, 3>& states,
                     const at::Tensor& g, const at::Tensor& beta) {
  const std::int64_t tokens = states[0].size(1);
  const std::int64_t padding = (kChunk - tokens % kChunk) % kChunk;
  at::Tensor query = ByHead(UnitLength(states[0]), padding);
  const at::Tensor key = ByHead(UnitLength(states[1]), padding);
  const at::Tensor value = ByHead(states[2], padding);
  const at::Tensor share = ByHead(beta, padding).unsqueeze(-1);
  query = query * (1 / std::sqrt(static_cast<double>(query.size(-1))));
  const at::Tensor value_share = Chunked(value * share);
  const at::Tensor key_share = Chunked(key * share);
  DeltaInputs in = {.query = Chunked(query), .key = Chunked(key)};
  in.decay = Chunked(ByHead(g, padding)).cumsum(-1);
  in.decay_mask = in.decay.unsqueeze(-1) - in.decay.unsqueeze(-2);
  in.decay_mask = in.decay_mask.tril().exp().tril();
  at::Tensor scores = at::matmul(key_share, in.key.transpose(-1, -2));
  scores = scores * in.decay_mask;
  scores = scores.masked_fill(UpperTriangle(query, 0), 0);
  scores = -scores;
  SolveChunks(scores);
  scores = scores + at::eye(kChunk, scores.options());
  in.value = at::matmul(scores, value_share);
  const at::Tensor decayed = key_share * in.decay.exp().unsqueeze(-1);
  in.decayed_key = at::matmul(scores, decayed);
  const at::Tensor out = RunChunks(in).flatten(2, 3).narrow(2, 0, tokens);
  return out.transpose(1, 2).contiguous().to(states[2].scalar_type());
}

}  // namespace

GatedDeltaNet::GatedDeltaNet(const LlamaConfig& config) : config_(config) {
  const std::int64_t keys = config.linear_key_heads * config.linear_key_width;
  const std::int64_t heads = config.linear_value_heads;
  const std::int64_t values = heads * config.linear_value_width;
  const std::int64_t width = config.width;
  const std::int64_t mixed = 2 * keys + values;
  if (config.linear_split) {
    qkvz_ = register_module("in_proj_qkv", Dense(width, mixed, false));
    z_ = register_module("in_proj_z", Dense(width, values, false));
    b_ = register_module("in_proj_b", Dense(width, heads, false));
    a_ = register_module("in_proj_a", Dense(width, heads, false));
  } else {
    qkvz_ =
        register_module("in_proj_qkvz", Dense(width, mixed + values, false));
    ba_ = register_module("in_proj_ba", Dense(width, 2 * heads, false));
  }
  const std::array<std::int64_t, 3> sizes = {mixed, 1, config.linear_kernel};
  kernel_ =
      register_module("conv1d", std::make_shared<KernelHolder>(sizes))->weight;
  steps_ = register_parameter("dt_bias", at::ones({heads}));
  rates_ = register_parameter("A_log", at::zeros({heads}));
  const std::array<std::int64_t, 1> norm = {config.linear_value_width};
  norm_ = register_module("norm", std::make_shared<KernelHolder>(norm))->weight;
  out_ = register_module("out_proj", Dense(values, width, false));
}

at::Tensor GatedDeltaNet::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  const Parts parts = config_.linear_split ? ProjectApart(x) : Project(x);
  const at::Tensor mixed = Convolve(parts.mixed);
  const std::int64_t keys = config_.linear_key_heads * config_.linear_key_width;
  const std::vector<at::Tensor> all = mixed.split_with_sizes(
      {keys, keys, config_.linear_value_heads * config_.linear_value_width},
      -1);
  const auto by_head = [&](const at::Tensor& states, std::int64_t width) {
    return states.reshape({x.size(0), x.size(1), -1, width});
  };
  at::Tensor query = by_head(all[0], config_.linear_key_width);
  at::Tensor key = by_head(all[1], config_.linear_key_width);
  const at::Tensor value = by_head(all[2], config_.linear_value_width);
  const at::Tensor beta = at::sigmoid(parts.b);
  at::Tensor g = at::softplus(parts.a.to(at::kFloat) + steps_);
  g = -rates_.to(at::kFloat).exp() * g;
  const std::int64_t groups =
      config_.linear_value_heads / config_.linear_key_heads;
  if (groups > 1) {
    query = query.repeat_interleave(groups, 2);
    key = key.repeat_interleave(groups, 2);
  }
  at::Tensor y = DeltaRule({query, key, value}, g, beta);
  const std::int64_t width = config_.linear_value_width;
  y = GatedNorm(y.reshape({-1, width}), parts.gate.reshape({-1, width}));
  y = y.reshape({x.size(0), x.size(1), -1});
  return out_->forward(y);
}

/// Qwen3-Next: two products, sorted by the heads of keys.
GatedDeltaNet::Parts GatedDeltaNet::Project(const at::Tensor& x) {
  const std::int64_t key_heads = config_.linear_key_heads;
  const std::int64_t groups = config_.linear_value_heads / key_heads;
  const std::int64_t values = groups * config_.linear_value_width;
  const std::int64_t key = config_.linear_key_width;
  const at::Tensor qkvz = qkvz_->forward(x).view(
      {x.size(0), x.size(1), key_heads, 2 * key + 2 * values});
  const at::Tensor ba =
      ba_->forward(x).view({x.size(0), x.size(1), key_heads, 2 * groups});
  const auto all = qkvz.split_with_sizes({key, key, values, values}, 3);
  const auto both = ba.split_with_sizes({groups, groups}, 3);
  const std::array<std::int64_t, 4> by_head = {x.size(0), x.size(1),
                                               config_.linear_value_heads,
                                               config_.linear_value_width};
  const std::array<std::int64_t, 3> flat = {x.size(0), x.size(1), -1};
  const at::Tensor value = all[2].reshape(by_head);
  Parts parts = {.gate = all[3].reshape(by_head),
                 .b = both[0].reshape(flat),
                 .a = both[1].reshape(flat)};
  parts.mixed = at::cat(
      {all[0].reshape(flat), all[1].reshape(flat), value.reshape(flat)}, -1);
  return parts;
}

/// Qwen3.5: four products.
GatedDeltaNet::Parts GatedDeltaNet::ProjectApart(const at::Tensor& x) {
  Parts parts;
  parts.mixed = qkvz_->forward(x);
  parts.gate = z_->forward(x);
  parts.b = b_->forward(x);
  parts.a = a_->forward(x);
  return parts;
}

at::Tensor GatedDeltaNet::Convolve(const at::Tensor& mixed) {
  const at::Tensor channels = mixed.transpose(1, 2);
  at::Tensor y =
      at::conv1d(channels, kernel_, {}, /*stride=*/1,
                 /*padding=*/config_.linear_kernel - 1, /*dilation=*/1,
                 /*groups=*/channels.size(1));
  y = at::silu(y.narrow(2, 0, mixed.size(1)));
  return y.transpose(1, 2);
}

/// Qwen3NextRMSNormGated.
at::Tensor GatedDeltaNet::GatedNorm(const at::Tensor& x,
                                    const at::Tensor& gate) const {
  at::Tensor y = x.to(at::kFloat);
  at::Tensor variance = at::pow(y, 2);
  variance = variance.mean(-1, /*keepdim=*/true);
  y = y * at::rsqrt(variance + kDeltaEpsilon);
  y = norm_ * y.to(x.scalar_type());
  y = y * at::silu(gate.to(at::kFloat));
  return y.to(x.scalar_type());
}

}  // namespace foretell::zoo
