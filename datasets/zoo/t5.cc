// The encoder of T5 (Raffel et al. 2019) as transformers' T5EncoderModel: norms
// without mean or bias, and attention with a bias per distance that the first
// layer owns and all layers share. The bias enters fused attention as its mask
// (transformers 5; `attention=eager` multiplies, adds and normalises apart, as
// earlier versions do).

#include <fmt/core.h>
#include <torch/nn/modules/embedding.h>

#include <array>
#include <cmath>
#include <limits>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/token_activation.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kT5Epsilon = 1e-6;
/// Buckets of distances, both directions.
constexpr std::int64_t kBuckets = 32;
constexpr std::int64_t kMaxDistance = 128;  ///< All beyond share a bucket.

struct T5Config {
  std::int64_t width = 512;
  std::int64_t depth = 6;
  std::int64_t heads = 8;
  std::int64_t head_width = 64;
  std::int64_t inner = 2048;
  std::int64_t vocabulary = 32128;
  double dropout = 0.1;
  std::string feed_forward = "relu";  ///< Or "gated-gelu", as T5 1.1.
  std::string attention = "sdpa";     ///< Or "eager".
  std::int64_t seq = 128;             ///< Tokens.

  FORETELL_FIELDS(width, depth, heads, head_width, inner, vocabulary, dropout,
                  feed_forward, attention, seq)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("tokens", DType::kI64, {seq})};
  }
  std::shared_ptr<Network> Make() const;
};

/// x / √(mean x² + ε) × weight, the mean in 32 bits.
class RootMeanSquareNorm final : public torch::nn::Module {
 public:
  explicit RootMeanSquareNorm(std::int64_t width)
      : weight_(register_parameter("weight", at::ones({width}))) {}

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const at::Tensor variance = MeanSquare(x);
    at::Tensor y = x * at::rsqrt(variance + kT5Epsilon);
    const at::ScalarType type = weight_.scalar_type();
    if (y.scalar_type() != type) y = y.to(type);
    return weight_ * y;
  }

 private:
  static at::Tensor MeanSquare(const at::Tensor& x) {
    at::Tensor y = x.to(at::kFloat);
    y = at::pow(y, 2);
    return y.mean(-1, /*keepdim=*/true);
  }

  at::Tensor weight_;
};

/// In half precision only: infinities become large numbers.
at::Tensor Clamp(const at::Tensor& x) {
  if (x.scalar_type() != at::kHalf) return x;
  const double largest = std::numeric_limits<at::Half>::max();
  const at::Tensor limit = at::where(x.isinf().any(), largest - 1000, largest);
  return at::clamp(x, -limit, limit);
}

/// Bucket of each pair of tokens, i64[seq, seq]: half of the buckets for each
/// direction, of which half hold one distance each and the others widen
/// logarithmically.
at::Tensor DistanceBuckets(std::int64_t seq, const at::TensorOptions& options) {
  constexpr std::int64_t kOneWay = kBuckets / 2;
  constexpr std::int64_t kExact = kOneWay / 2;
  const at::Tensor i = at::arange(seq, options.dtype(at::kLong));
  at::Tensor distance = i.unsqueeze(0) - i.unsqueeze(1);
  at::Tensor bucket = distance.gt(0).to(at::kLong) * kOneWay;
  distance = distance.abs();
  const at::Tensor is_small = distance.lt(kExact);
  at::Tensor wide = distance.to(at::kFloat) / static_cast<double>(kExact);
  wide = wide.log();
  wide = wide / std::log(static_cast<double>(kMaxDistance) / kExact);
  wide = wide * static_cast<double>(kOneWay - kExact);
  wide = wide.to(at::kLong) + kExact;
  wide = at::minimum(wide, at::full_like(wide, kOneWay - 1));
  bucket += at::where(is_small, distance, wide);
  return bucket;
}

class RelativeAttention final : public torch::nn::Module {
 public:
  explicit RelativeAttention(const T5Config& config)
      : heads_(config.heads),
        dropout_(config.dropout),
        is_fused_(config.attention == "sdpa") {
    const std::int64_t width = config.heads * config.head_width;
    q_ = register_module("q", Dense(config.width, width, /*has_bias=*/false));
    k_ = register_module("k", Dense(config.width, width, /*has_bias=*/false));
    v_ = register_module("v", Dense(config.width, width, /*has_bias=*/false));
    o_ = register_module("o", Dense(width, config.width, /*has_bias=*/false));
  }

  /// bias: [1, heads, seq, seq].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& bias) {
    const ModuleScope scope(*this);
    const at::Tensor q = SplitHeads(q_->forward(x), heads_);
    const at::Tensor k = SplitHeads(k_->forward(x), heads_);
    const at::Tensor v = SplitHeads(v_->forward(x), heads_);
    at::Tensor y = is_fused_ ? Fused(q, k, v, bias) : Eager(q, k, v, bias);
    y = MergeHeads(y);
    return o_->forward(y);
  }

 private:
  at::Tensor Fused(const at::Tensor& q, const at::Tensor& k,
                   const at::Tensor& v, const at::Tensor& bias) const {
    const at::Tensor mask = bias.contiguous();
    return at::scaled_dot_product_attention(
        q, k, v, mask, is_training() ? dropout_ : 0, /*is_causal=*/false,
        /*scale=*/1.0);
  }

  at::Tensor Eager(const at::Tensor& q, const at::Tensor& k,
                   const at::Tensor& v, const at::Tensor& bias) const {
    at::Tensor weights = at::matmul(q, k.transpose(2, 3));
    weights = weights * 1.0;
    weights = weights + bias;
    weights = weights.softmax(-1);
    weights = at::dropout(weights, dropout_, is_training());
    return at::matmul(weights, v);
  }

  std::int64_t heads_;
  double dropout_;
  bool is_fused_;
  Dense q_ = nullptr;
  Dense k_ = nullptr;
  Dense v_ = nullptr;
  Dense o_ = nullptr;
};

/// The first half of T5DenseGatedActDense: two products, one of them through
/// GELU, times each other.
struct GatedInner final : torch::nn::Module {
  GatedInner(std::int64_t width, std::int64_t inner) {
    gate = register_module("wi_0", Dense(width, inner, /*has_bias=*/false));
    linear = register_module("wi_1", Dense(width, inner, /*has_bias=*/false));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const at::Tensor through = TanhGelu(gate->forward(x));
    const at::Tensor other = linear->forward(x);
    return through * other;
  }

  Dense gate = nullptr;
  Dense linear = nullptr;
};

struct T5Block : torch::nn::Module {
  explicit T5Block(const T5Config& config) : dropout_(config.dropout) {
    norm_ = register_module("norm",
                            std::make_shared<RootMeanSquareNorm>(config.width));
    attention_ = register_module("attention",
                                 std::make_shared<RelativeAttention>(config));
    mlp_->Add("norm", std::make_shared<RootMeanSquareNorm>(config.width));
    if (config.feed_forward == "gated-gelu") {
      mlp_->Add("gated",
                std::make_shared<GatedInner>(config.width, config.inner));
    } else {
      mlp_->Add("wi", Dense(config.width, config.inner, /*has_bias=*/false));
      mlp_->Add("act", torch::nn::ReLU());
    }
    mlp_->Add("inner_dropout", torch::nn::Dropout(config.dropout));
    mlp_->Add("wo", Dense(config.inner, config.width, /*has_bias=*/false));
    mlp_->Add("dropout", torch::nn::Dropout(config.dropout));
    register_module("mlp", mlp_);
    register_module("dropout", dropout_);
  }

  at::Tensor forward(const at::Tensor& x, const at::Tensor& bias) {
    const ModuleScope scope(*this);
    at::Tensor y = at::add(x, Attend(x, bias));
    y = Clamp(y);
    y = at::add(y, mlp_->forward(y));
    return Clamp(y);
  }

 private:
  at::Tensor Attend(const at::Tensor& x, const at::Tensor& bias) {
    at::Tensor y = norm_->forward(x);
    y = attention_->forward(y, bias);
    return dropout_->forward(y);
  }

  std::shared_ptr<RootMeanSquareNorm> norm_;
  std::shared_ptr<RelativeAttention> attention_;
  Chain mlp_;
  torch::nn::Dropout dropout_;
};

class T5Encoder final : public UnaryNetwork {
 public:
  explicit T5Encoder(const T5Config& config) : dropout_(config.dropout) {
    words_ = register_module(
        "shared", torch::nn::Embedding(config.vocabulary, config.width));
    // The encoder's name for the weight that it would share with a decoder.
    register_module("embed_tokens", words_);
    distances_ = register_module("relative_attention_bias",
                                 torch::nn::Embedding(kBuckets, config.heads));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      blocks_.push_back(register_module(fmt::format("block{}", i),
                                        std::make_shared<T5Block>(config)));
    }
    norm_ = register_module("norm",
                            std::make_shared<RootMeanSquareNorm>(config.width));
    register_module("dropout", dropout_);
  }

  /// x: i64[batch, seq]; returns [batch, seq, width].
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor words = words_->forward(x);
    at::Tensor y = dropout_->forward(words);
    at::Tensor bias;
    for (const std::shared_ptr<T5Block>& block : blocks_) {
      if (!bias.defined()) bias = Bias(x);
      y = block->forward(y, bias);
    }
    y = norm_->forward(y);
    return dropout_->forward(y);
  }

 private:
  /// [1, heads, seq, seq], on the device of `tokens`.
  at::Tensor Bias(const at::Tensor& tokens) {
    at::Tensor y = DistanceBuckets(tokens.size(1), tokens.options());
    y = distances_->forward(y);
    return y.permute({2, 0, 1}).unsqueeze(0);
  }

  torch::nn::Embedding words_ = nullptr;
  torch::nn::Embedding distances_ = nullptr;
  torch::nn::Dropout dropout_;
  std::vector<std::shared_ptr<T5Block>> blocks_;
  std::shared_ptr<RootMeanSquareNorm> norm_;
};

std::shared_ptr<Network> T5Config::Make() const {
  Require(attention == "sdpa" || attention == "eager",
          "attention=" + attention + ": expected sdpa or eager");
  Require(feed_forward == "relu" || feed_forward == "gated-gelu",
          "feed_forward=" + feed_forward + ": expected relu or gated-gelu");
  Require(depth > 0 && heads > 0 && head_width > 0 && seq > 0,
          "depth, heads, head_width and seq must be positive");
  return std::make_shared<T5Encoder>(*this);
}

constexpr std::array<Variant, 2> kT5Variants = {{
    {"t5_small", ""},
    {"t5_base", "width=768&depth=12&heads=12&inner=3072"},
}};

}  // namespace

const Family kT5 = {"t5", kT5Variants, &Configure<T5Config>};

}  // namespace foretell::zoo
