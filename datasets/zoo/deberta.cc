// DeBERTa V2/V3 (He et al. 2020, 2021) as transformers' DebertaV2Model:
// disentangled attention written out in small operators, no fused kernel, and
// the states of all layers alive until the end, as the encoder collects them.

#include <fmt/core.h>
#include <torch/nn/modules/embedding.h>

#include <array>

#include "datasets/zoo/disentangled_attention.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kDebertaEpsilon = 1e-7;

struct DebertaConfig : TextTransformer {
  std::int64_t inner = 3072;
  std::int64_t vocabulary = 128100;
  std::int64_t positions = 512;  ///< Longest distance.
  std::int64_t buckets = 256;    ///< Buckets of distances, per direction.

  FORETELL_FIELDS(width, depth, heads, inner, vocabulary, positions, buckets,
                  dropout, seq)

  std::shared_ptr<Network> Make() const;
};

/// What all layers know about the tokens' places.
struct Places {
  at::Tensor mask;       ///< [batch, 1, seq, seq].
  at::Tensor distances;  ///< i64[1, seq, seq].
  at::Tensor embedded;   ///< [2 buckets, width].
};

struct DebertaLayer : torch::nn::Module {
  explicit DebertaLayer(const DebertaConfig& config) {
    attention_ = register_module(
        "attention", std::make_shared<DisentangledAttention>(
                         DisentangledShape{.width = config.width,
                                           .heads = config.heads,
                                           .buckets = config.buckets,
                                           .dropout = config.dropout}));
    attention_output_ = register_module(
        "attention_output",
        std::make_shared<BranchOutput>(config.width, config.width,
                                       config.dropout, kDebertaEpsilon));
    intermediate_->Add(Dense(config.width, config.inner));
    AddActivation(intermediate_, "gelu");
    register_module("intermediate", intermediate_);
    output_ = register_module("output", std::make_shared<BranchOutput>(
                                            config.inner, config.width,
                                            config.dropout, kDebertaEpsilon));
  }

  at::Tensor forward(const at::Tensor& x, const Places& places) {
    const ModuleScope scope(*this);
    const at::Tensor attended = Attend(x, places);
    const at::Tensor inner = intermediate_->forward(attended);
    return output_->forward(inner, attended);
  }

 private:
  at::Tensor Attend(const at::Tensor& x, const Places& places) {
    const at::Tensor y =
        attention_->forward(x, places.mask, places.distances, places.embedded);
    return attention_output_->forward(y, x);
  }

  std::shared_ptr<DisentangledAttention> attention_;
  std::shared_ptr<BranchOutput> attention_output_;
  Chain intermediate_;
  std::shared_ptr<BranchOutput> output_;
};

class Deberta final : public UnaryNetwork {
 public:
  explicit Deberta(const DebertaConfig& config)
      : config_(config), dropout_(config.dropout) {
    words_ = register_module(
        "word_embeddings",
        torch::nn::Embedding(
            torch::nn::EmbeddingOptions(config.vocabulary, config.width)
                .padding_idx(0)));
    word_norm_ =
        register_module("word_norm", Norm(config.width, kDebertaEpsilon));
    register_module("dropout", dropout_);
    register_buffer("position_ids",
                    at::arange(config.positions, at::kLong).unsqueeze(0));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      layers_.push_back(register_module(
          fmt::format("layer{}", i), std::make_shared<DebertaLayer>(config)));
    }
    distances_ =
        register_module("rel_embeddings",
                        torch::nn::Embedding(2 * config.buckets, config.width));
    distance_norm_ =
        register_module("distance_norm", Norm(config.width, kDebertaEpsilon));
  }

  /// x: i64[batch, seq]; returns [batch, seq, width].
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor mask = at::ones(x.sizes(), x.options().dtype(at::kFloat));
    const at::Tensor segments = at::zeros(x.sizes(), x.options());
    std::vector<at::Tensor> states = {Embed(x, mask)};
    const Places places = PlacesOf(x, mask);
    for (const std::shared_ptr<DebertaLayer>& layer : layers_) {
      states.push_back(layer->forward(states.back(), places));
    }
    return states.back();
  }

 private:
  at::Tensor Embed(const at::Tensor& tokens, const at::Tensor& mask) {
    const at::Tensor words = words_->forward(tokens);
    const at::Tensor positions = at::zeros_like(words);
    at::Tensor y = word_norm_->forward(words);
    const at::Tensor seen = mask.unsqueeze(2).to(y.scalar_type());
    y = y * seen;
    return dropout_->forward(y);
  }

  Places PlacesOf(const at::Tensor& tokens, const at::Tensor& mask) {
    const at::Tensor row = mask.unsqueeze(1).unsqueeze(2);
    Places places;
    places.mask = row * row.squeeze(-2).unsqueeze(-1);
    places.distances = LogDistances(tokens.size(1), config_.buckets,
                                    config_.positions, tokens.device());
    places.embedded = distance_norm_->forward(distances_->weight);
    return places;
  }

  DebertaConfig config_;
  torch::nn::Embedding words_ = nullptr;
  torch::nn::LayerNorm word_norm_ = nullptr;
  torch::nn::Dropout dropout_;
  std::vector<std::shared_ptr<DebertaLayer>> layers_;
  torch::nn::Embedding distances_ = nullptr;
  torch::nn::LayerNorm distance_norm_ = nullptr;
};

std::shared_ptr<Network> DebertaConfig::Make() const {
  RequireHeads(width, heads);
  Require(seq > 0, "seq=0: expected at least 1");
  Require(
      buckets >= 4 && positions > buckets,
      fmt::format("buckets={}: expected at least 4 and fewer than positions={}",
                  buckets, positions));
  return std::make_shared<Deberta>(*this);
}

constexpr std::array<Variant, 1> kDebertaVariants = {{
    {"deberta_v2_base", ""},
}};

}  // namespace

const Family kDeberta = {"deberta", kDebertaVariants,
                         &Configure<DebertaConfig>};

}  // namespace foretell::zoo
