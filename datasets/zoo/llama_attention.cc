// Attention of decoders with the operators of transformers 4.57:
// modeling_{llama,gemma2,phi3,gpt_neox,falcon,gpt_bigcode,olmoe,smollm3,glm4,
// cohere2,exaone4,hunyuan_v1_dense}.py, of 5.17 modeling_ministral3.py, and
// integrations/sdpa_attention.py.

#include "datasets/zoo/llama_attention.h"

#include <ATen/Functions.h>
#include <ATen/TensorIndexing.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "datasets/zoo/module_scope.h"
#include "src/program/flex_attention.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

/// Writes `states` [batch, kv_heads, tokens, width] after what `cache` holds
/// and returns a view of all that it then holds.
at::Tensor Append(const at::Tensor& states, const at::Tensor& cache,
                  std::int64_t cached) {
  cache.narrow(2, cached, states.size(2)).copy_(states);
  return cache.narrow(2, 0, cached + states.size(2));
}

/// repeat_kv: each head of [batch, heads, tokens, width] `count` times, a copy.
at::Tensor RepeatKeyHeads(const at::Tensor& x, std::int64_t count) {
  if (count == 1) return x;
  const at::Tensor many = x.unsqueeze(2).expand(
      {x.size(0), x.size(1), count, x.size(2), x.size(3)});
  return many.reshape({x.size(0), x.size(1) * count, x.size(2), x.size(3)});
}

/// bool[batch, 1, tokens, keys]: which keys each query sees. The batch is a
/// view of one mask unless rows are packed.
at::Tensor VisibleKeys(const LlamaConfig& config, const at::Tensor& words,
                       std::int64_t first, std::int64_t window) {
  const std::int64_t batch = words.size(0);
  const std::int64_t tokens = words.size(1);
  const at::TensorOptions numbers = words.options().dtype(at::kLong);
  const at::Tensor queries =
      at::arange(first, first + tokens, numbers).unsqueeze(1);
  const at::Tensor keys = at::arange(first + tokens, numbers);
  at::Tensor visible = keys <= queries;
  if (window > 0) visible = visible & (keys > queries - window);
  if (config.packed) {
    const at::Tensor sequences = at::zeros({batch, tokens}, numbers);
    visible = visible & (sequences.unsqueeze(2) == sequences.unsqueeze(1));
    return visible.unsqueeze(1);
  }
  return visible.expand({batch, 1, tokens, first + tokens});
}

at::Tensor MakeMask(const LlamaConfig& config, const at::Tensor& words,
                    std::int64_t first, std::int64_t window) {
  const bool is_eager = config.attention == "eager";
  const std::int64_t keys = first + words.size(1);
  const bool narrows = window > 0 && keys >= window;
  if (!is_eager && !narrows && !config.packed) return {};
  const at::Tensor visible = VisibleKeys(config, words, first, window);
  if (!is_eager) return visible;
  return at::where(visible, at::zeros({}, words.options()),
                   -std::numeric_limits<double>::infinity());
}

/// Ministral 3: queries [batch, heads, tokens, width] times a factor that
/// grows with the position.
void ScaleQueries(at::Tensor& queries, std::int64_t first) {
  constexpr std::int64_t kOriginalPositions = 16384;
  constexpr double kBeta = 0.1;
  const std::int64_t tokens = queries.size(2);
  const at::Tensor positions =
      at::arange(first, first + tokens, queries.options().dtype(at::kLong));
  at::Tensor scale = at::div(positions, kOriginalPositions);
  scale = at::floor(scale);
  scale = scale + 1;
  scale = at::log(scale);
  scale = scale * kBeta;
  scale = scale + 1;
  scale = scale.to(queries.scalar_type());
  queries = queries * scale.view({1, 1, tokens, 1});
}

}  // namespace

void MakeMasks(const LlamaConfig& config, const at::Tensor& words,
               DecoderPass& pass) {
  if (config.attention == "flash" || config.attention == "flex") return;
  if (config.window == 0 || config.window_pattern > 0) {
    pass.mask = MakeMask(config, words, pass.cached, /*window=*/0);
  }
  if (config.window == 0) return;
  pass.window_mask = MakeMask(config, words, pass.cached, config.window);
}

GroupedAttention::GroupedAttention(const LlamaConfig& config,
                                   std::int64_t layer)
    : config_(config), layer_(layer) {
  const std::int64_t inside = config.heads * config.HeadWidth();
  const std::int64_t asked = config.gated_attention ? 2 * inside : inside;
  const std::int64_t shared = config.kv_heads * config.HeadWidth();
  const bool bias = config.qkv_bias;
  const LayerNames& names = config.Names();
  if (config.fused_qkv) {
    qkv_ = register_module(std::string(names.qkv),
                           Dense(config.width, inside + 2 * shared, bias));
  } else {
    q_ = register_module("q_proj", Dense(config.width, asked, bias));
    k_ = register_module("k_proj", Dense(config.width, shared, bias));
    v_ = register_module("v_proj", Dense(config.width, shared, bias));
  }
  o_ = register_module(std::string(names.out),
                       Dense(inside, config.width, config.out_bias));
  if (config.sinks) {
    sinks_ = register_parameter("sinks", at::zeros({config.heads}));
  }
  AddNorms(inside, shared);
}

void GroupedAttention::AddNorms(std::int64_t inside, std::int64_t shared) {
  const LlamaConfig& config = config_;
  if (!config.head_norms && !config.width_norms) return;
  const std::string& kind =
      config.head_norm.empty() ? config.norm : config.head_norm;
  const bool of_all = config.width_norms;
  const bool is_late = config.late_head_norms;
  q_norm_ = register_module(
      is_late ? "query_layernorm" : "q_norm",
      std::make_shared<TokenNorm>(ParseNormKind(kind),
                                  of_all ? inside : config.HeadWidth()));
  k_norm_ = register_module(
      is_late ? "key_layernorm" : "k_norm",
      std::make_shared<TokenNorm>(ParseNormKind(kind),
                                  of_all ? shared : config.HeadWidth()));
}

at::Tensor GroupedAttention::forward(const at::Tensor& x,
                                     const DecoderPass& pass) {
  const ModuleScope scope(*this);
  at::Tensor fused;  // Lives until the end, as in Python.
  if (config_.fused_qkv) fused = qkv_->forward(x);
  if (pass.projections != nullptr) pass.projections->push_back(fused);
  States states = fused.defined() ? Split(fused) : Project(x);
  const bool is_rotary = config_.IsRotary(layer_);
  const bool is_own = config_.window_rotary && config_.HasWindow(layer_);
  if (is_rotary) TurnBoth(states, is_own ? pass.window_rotary : pass.rotary);
  if (config_.late_head_norms && (is_rotary || config_.head_norm.empty())) {
    states.q = q_norm_->forward(states.q);
    states.k = k_norm_->forward(states.k);
  }
  if (config_.scaled_queries) ScaleQueries(states.q, pass.cached);
  if (pass.cache.defined()) {
    const at::Tensor own = pass.cache.select(0, layer_);
    states.k = Append(states.k, own.select(0, 0), pass.cached);
    states.v = Append(states.v, own.select(0, 1), pass.cached);
  }
  at::Tensor y = Attend(states, pass);
  y = MergeHeads(y);
  if (states.gate.defined()) y = y * at::sigmoid(states.gate);
  return o_->forward(y);
}

GroupedAttention::States GroupedAttention::Project(const at::Tensor& x) {
  States states;
  const bool is_late = config_.late_head_norms;
  at::Tensor query = q_->forward(x);
  if (config_.gated_attention) {
    const std::vector<at::Tensor> both =
        query.view({x.size(0), x.size(1), -1, 2 * config_.HeadWidth()})
            .chunk(2, -1);
    query = both[0];
    states.gate = both[1].reshape({x.size(0), x.size(1), -1});
  }
  states.q = Heads(query, config_.heads, is_late ? nullptr : q_norm_);
  states.k =
      Heads(k_->forward(x), config_.kv_heads, is_late ? nullptr : k_norm_);
  states.v = SplitHeads(v_->forward(x), config_.kv_heads);
  return states;
}

GroupedAttention::States GroupedAttention::Split(
    const at::Tensor& fused) const {
  const std::int64_t shared = config_.kv_heads;
  const at::Tensor all = SplitHeads(fused, config_.heads + 2 * shared);
  States states;
  states.q = all.narrow(1, 0, config_.heads);
  states.k = all.narrow(1, config_.heads, shared);
  states.v = all.narrow(1, config_.heads + shared, shared);
  if (config_.copied_kv) {
    // Falcon chooses them by lists of numbers, which copies.
    const at::Tensor chosen =
        at::arange(shared, fused.options().dtype(at::kLong));
    states.k = states.k.index({at::indexing::Slice(), chosen});
    states.v = states.v.index({at::indexing::Slice(), chosen});
  }
  if (q_norm_) states.q = q_norm_->forward(states.q);
  if (k_norm_) states.k = k_norm_->forward(states.k);
  return states;
}

/// `x` as SplitHeads divides it, normalized if there is a norm.
at::Tensor GroupedAttention::Heads(
    const at::Tensor& x, std::int64_t heads,
    const std::shared_ptr<TokenNorm>& norm) const {
  if (!norm) return SplitHeads(x, heads);
  if (config_.width_norms) return SplitHeads(norm->forward(x), heads);
  const at::Tensor states =
      x.dim() == 4 ? x : x.view({x.size(0), x.size(1), heads, -1});
  return norm->forward(states).transpose(1, 2);
}

void GroupedAttention::TurnBoth(States& states,
                                const RotaryTables& rotary) const {
  if (config_.rotary_share == 1 && rotary.kind == RotaryKind::kHalves &&
      FusedKernelScope::Takes(FusedKernel::kRope)) {
    liger::Rotate(states.q, states.k, rotary.cosine, rotary.sine);
    return;
  }
  const RotaryTables tables = TablesOfLayer(rotary);
  states.q = Turn(states.q, tables);
  states.k = Turn(states.k, tables);
}

/// `x` turned by its position. Phi-3, GPT-NeoX and GLM join the part of a head
/// that does not turn even if it is empty: a copy.
at::Tensor GroupedAttention::Turn(const at::Tensor& x,
                                  const RotaryTables& rotary) const {
  const bool joins = config_.rotary_share < 1 ||
                     rotary.kind == RotaryKind::kGlm ||
                     (config_.fused_qkv && !config_.copied_kv);
  if (!joins) return Rotate(x, rotary);
  const std::int64_t turned = config_.TurnedWidth();
  const at::Tensor first = Rotate(x.narrow(-1, 0, turned), rotary);
  return at::cat({first, x.narrow(-1, turned, x.size(-1) - turned)}, -1);
}

at::Tensor GroupedAttention::Attend(const States& states,
                                    const DecoderPass& pass) {
  const at::Tensor& mask =
      config_.HasWindow(layer_) ? pass.window_mask : pass.mask;
  if (config_.attention == "eager") return AttendEagerly(states, mask);
  const std::int64_t groups = config_.heads / config_.kv_heads;
  if (config_.attention == "flex") {
    // integrations/flex_attention.py repeats keys of such heads.
    const bool copies =
        !std::has_single_bit(static_cast<std::uint64_t>(config_.heads));
    return FlexAttention(states.q,
                         RepeatKeyHeads(states.k, copies ? groups : 1),
                         RepeatKeyHeads(states.v, copies ? groups : 1));
  }
  at::Tensor q = states.q;
  at::Tensor k = states.k;
  at::Tensor v = states.v;
  if (config_.attention == "flash" && q.scalar_type() == at::kFloat) {
    // As _flash_attention_forward of transformers, which has no 32-bit kernel.
    const at::ScalarType type = (qkv_ ? qkv_ : q_)->weight.scalar_type();
    q = q.to(type);
    k = k.to(type);
    v = v.to(type);
  }
  const bool repeats = config_.repeat_kv || mask.defined();
  if (repeats) {
    k = RepeatKeyHeads(k, groups);
    v = RepeatKeyHeads(v, groups);
  }
  if (config_.repeat_kv) {
    q = q.contiguous();
    k = k.contiguous();
    v = v.contiguous();
  }
  // Falcon broadcasts its one key head, which no fused kernel supports.
  const bool is_grouped = !repeats && groups > 1 && !config_.copied_kv;
  const bool is_causal = !mask.defined() && q.size(2) > 1;
  return at::scaled_dot_product_attention(
      q, k, v, mask.defined() ? std::optional(mask) : std::nullopt,
      is_training() ? config_.attention_dropout : 0, is_causal,
      /*scale=*/std::nullopt, /*enable_gqa=*/is_grouped);
}

at::Tensor GroupedAttention::AttendEagerly(const States& states,
                                           const at::Tensor& mask) {
  const std::int64_t groups = config_.heads / config_.kv_heads;
  const double scale = 1 / std::sqrt(static_cast<double>(config_.HeadWidth()));
  const at::Tensor k = RepeatKeyHeads(states.k, groups);
  const at::Tensor v = RepeatKeyHeads(states.v, groups);
  at::Tensor scores = at::matmul(states.q, k.transpose(2, 3));
  scores = scores * scale;
  if (config_.attention_softcap > 0) {
    scores = scores / config_.attention_softcap;
    scores = at::tanh(scores);
    scores = scores * config_.attention_softcap;
  }
  scores = scores + mask;
  scores = sinks_.defined()
               ? SoftmaxWithSinks(scores)
               : at::softmax(scores, -1, at::kFloat).to(states.q.scalar_type());
  if (is_training() && config_.attention_dropout > 0) {
    scores = at::dropout(scores, config_.attention_dropout, /*train=*/true);
  }
  return at::matmul(scores, v);
}

/// eager_attention_forward of gpt-oss: in the type of the scores [batch, heads,
/// tokens, keys].
at::Tensor GroupedAttention::SoftmaxWithSinks(const at::Tensor& scores) const {
  const at::Tensor sinks =
      sinks_.reshape({1, -1, 1, 1})
          .expand({scores.size(0), -1, scores.size(2), -1});
  at::Tensor all = at::cat({scores, sinks}, -1);
  all = all - std::get<0>(all.max(-1, /*keepdim=*/true));
  all = at::softmax(all, -1, all.scalar_type());
  return all.narrow(-1, 0, scores.size(-1));
}

}  // namespace foretell::zoo
