// GPT-2 (Radford et al. 2019) as transformers' GPT2Model, or with `lm_head`
// GPT2LMHeadModel, whose logits are products with the embedding: causal fused
// attention, weights stored inputs first, a GELU spelled out in seven
// operators, and a cache of keys and values that lives as long as the pass.

#include <fmt/core.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/token_activation.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kGptEpsilon = 1e-5;
constexpr double kInitialDeviation = 0.02;

struct GptConfig : TextTransformer {
  std::int64_t vocabulary = 50257;
  std::int64_t positions = 1024;  ///< Longest sequence.
  bool use_cache = true;  ///< Copies keys and values, as for generation.
  bool lm_head = false;   ///< The result is logits.

  FORETELL_FIELDS(width, depth, heads, vocabulary, positions, dropout,
                  use_cache, lm_head, seq)

  std::shared_ptr<Network> Make() const;
};

/// Keys and values of the layers that have run.
using Cache = std::vector<at::Tensor>;

/// A fully connected layer whose weight is [in, out].
class Projection final : public torch::nn::Module {
 public:
  Projection(std::int64_t in, std::int64_t out) {
    weight_ = register_parameter("weight", at::empty({in, out}));
    torch::nn::init::normal_(weight_, 0, kInitialDeviation);
    bias_ = register_parameter("bias", at::zeros({out}));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = at::addmm(bias_, x.view({-1, x.size(-1)}), weight_);
    return y.view({x.size(0), x.size(1), -1});
  }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// `states` appended to a cache that is still empty: a copy.
at::Tensor Remember(const at::Tensor& states, Cache& cache) {
  cache.push_back(at::cat({at::empty({0}, states.options()), states}, -2));
  return cache.back();
}

class CausalAttention final : public torch::nn::Module {
 public:
  explicit CausalAttention(const GptConfig& config)
      : heads_(config.heads),
        dropout_rate_(config.dropout),
        use_cache_(config.use_cache),
        dropout_(config.dropout) {
    in_ = register_module(
        "c_attn", std::make_shared<Projection>(config.width, 3 * config.width));
    out_ = register_module(
        "c_proj", std::make_shared<Projection>(config.width, config.width));
    register_module("dropout", dropout_);
  }

  at::Tensor forward(const at::Tensor& x, Cache& cache) {
    const ModuleScope scope(*this);
    std::vector<at::Tensor> parts = in_->forward(x).split(x.size(2), 2);
    for (at::Tensor& part : parts) part = SplitHeads(part, heads_);
    if (use_cache_) {
      parts[1] = Remember(parts[1], cache);
      parts[2] = Remember(parts[2], cache);
    }
    at::Tensor y = at::scaled_dot_product_attention(
        parts[0], parts[1], parts[2], {}, is_training() ? dropout_rate_ : 0,
        /*is_causal=*/x.size(1) > 1);
    y = MergeHeads(y);
    y = out_->forward(y);
    return dropout_->forward(y);
  }

 private:
  std::int64_t heads_;
  double dropout_rate_;
  bool use_cache_;
  torch::nn::Dropout dropout_;
  std::shared_ptr<Projection> in_;
  std::shared_ptr<Projection> out_;
};

struct GptBlock : torch::nn::Module {
  explicit GptBlock(const GptConfig& config) : dropout_(config.dropout) {
    attention_norm_ = register_module("ln_1", Norm(config.width, kGptEpsilon));
    attention_ =
        register_module("attn", std::make_shared<CausalAttention>(config));
    mlp_norm_ = register_module("ln_2", Norm(config.width, kGptEpsilon));
    widen_ = register_module(
        "c_fc", std::make_shared<Projection>(config.width, 4 * config.width));
    narrow_ = register_module(
        "c_proj", std::make_shared<Projection>(4 * config.width, config.width));
    register_module("dropout", dropout_);
  }

  at::Tensor forward(const at::Tensor& x, Cache& cache) {
    const ModuleScope scope(*this);
    at::Tensor y = at::add(Attend(x, cache), x);
    y = at::add(y, Mlp(y));
    return y;
  }

 private:
  at::Tensor Attend(const at::Tensor& x, Cache& cache) {
    const at::Tensor y = attention_norm_->forward(x);
    return attention_->forward(y, cache);
  }

  at::Tensor Mlp(const at::Tensor& x) {
    const at::Tensor normed = mlp_norm_->forward(x);
    at::Tensor y = widen_->forward(normed);
    y = TanhGelu(y);
    y = narrow_->forward(y);
    return dropout_->forward(y);
  }

  torch::nn::LayerNorm attention_norm_ = nullptr;
  std::shared_ptr<CausalAttention> attention_;
  torch::nn::LayerNorm mlp_norm_ = nullptr;
  std::shared_ptr<Projection> widen_;
  std::shared_ptr<Projection> narrow_;
  torch::nn::Dropout dropout_;
};

class Gpt final : public UnaryNetwork {
 public:
  explicit Gpt(const GptConfig& config)
      : has_head_(config.lm_head), dropout_(config.dropout) {
    words_ = register_module(
        "wte", torch::nn::Embedding(config.vocabulary, config.width));
    positions_ = register_module(
        "wpe", torch::nn::Embedding(config.positions, config.width));
    register_module("dropout", dropout_);
    for (std::int64_t i = 0; i < config.depth; ++i) {
      blocks_.push_back(register_module(fmt::format("{}", i),
                                        std::make_shared<GptBlock>(config)));
    }
    norm_ = register_module("ln_f", Norm(config.width, kGptEpsilon));
  }

  /// x: i64[batch, seq]; returns [batch, seq, width], or logits [batch, seq,
  /// vocabulary].
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor words = words_->forward(x);
    const at::Tensor ids = at::arange(x.size(1), x.options()).unsqueeze(0);
    const at::Tensor positions = positions_->forward(ids);
    at::Tensor y = at::add(words, positions);
    y = dropout_->forward(y);
    Cache cache;
    for (const std::shared_ptr<GptBlock>& block : blocks_) {
      y = block->forward(y, cache);
    }
    if (!has_head_) return norm_->forward(y);
    y = norm_->forward(y);
    return at::linear(y, words_->weight);
  }

  std::optional<NamedLoss> Loss(
      const std::vector<at::Tensor>& inputs,
      const std::vector<at::Tensor>& outputs) const override {
    if (!has_head_) return std::nullopt;
    return CrossEntropyOfTokens(outputs.front(), inputs.front());
  }

 private:
  bool has_head_;
  torch::nn::Embedding words_ = nullptr;
  torch::nn::Embedding positions_ = nullptr;
  torch::nn::Dropout dropout_;
  std::vector<std::shared_ptr<GptBlock>> blocks_;
  torch::nn::LayerNorm norm_ = nullptr;
};

std::shared_ptr<Network> GptConfig::Make() const {
  RequireHeads(width, heads);
  RequirePositions(seq, positions);
  return std::make_shared<Gpt>(*this);
}

constexpr std::array<Variant, 2> kGptVariants = {{
    {"gpt2", ""},
    {"gpt2_medium", "width=1024&depth=24&heads=16"},
}};

}  // namespace

const Family kGpt = {"gpt", kGptVariants, &Configure<GptConfig>};

}  // namespace foretell::zoo
