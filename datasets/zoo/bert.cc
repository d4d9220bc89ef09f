// BERT (Devlin et al. 2018) as transformers' BertModel: norms after the sums,
// fused attention, and a pooler over the first token.

#include <torch/nn/modules/embedding.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kBertEpsilon = 1e-12;

struct BertConfig : TextTransformer {
  std::int64_t inner = 3072;
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;  ///< Longest sequence.
  std::int64_t segments = 2;     ///< Types of tokens; at least 1.

  FORETELL_FIELDS(width, depth, heads, inner, vocabulary, positions, segments,
                  dropout, seq)

  std::shared_ptr<Network> Make() const;
};

/// Sum of the embeddings of the token, its segment and its position.
class Embeddings final : public torch::nn::Module {
 public:
  explicit Embeddings(const BertConfig& config) : dropout_(config.dropout) {
    words_ = register_module(
        "word_embeddings",
        torch::nn::Embedding(
            torch::nn::EmbeddingOptions(config.vocabulary, config.width)
                .padding_idx(0)));
    positions_ =
        register_module("position_embeddings",
                        torch::nn::Embedding(config.positions, config.width));
    segments_ =
        register_module("token_type_embeddings",
                        torch::nn::Embedding(config.segments, config.width));
    norm_ = register_module("norm", Norm(config.width, kBertEpsilon));
    register_module("dropout", dropout_);
    position_ids_ = register_buffer(
        "position_ids", at::arange(config.positions, at::kLong).unsqueeze(0));
    segment_ids_ = register_buffer("token_type_ids",
                                   at::zeros({1, config.positions}, at::kLong));
  }

  /// tokens: i64[batch, seq]; returns [batch, seq, width].
  at::Tensor forward(const at::Tensor& tokens) {
    const ModuleScope scope(*this);
    const at::Tensor position_ids = position_ids_.slice(1, 0, tokens.size(1));
    const at::Tensor segment_ids =
        at::gather(segment_ids_, 1, position_ids).expand(tokens.sizes());
    const at::Tensor words = words_->forward(tokens);
    const at::Tensor segments = segments_->forward(segment_ids);
    at::Tensor y = at::add(words, segments);
    const at::Tensor positions = positions_->forward(position_ids);
    y = at::add(y, positions);
    y = norm_->forward(y);
    return dropout_->forward(y);
  }

 private:
  torch::nn::Embedding words_ = nullptr;
  torch::nn::Embedding positions_ = nullptr;
  torch::nn::Embedding segments_ = nullptr;
  torch::nn::LayerNorm norm_ = nullptr;
  torch::nn::Dropout dropout_;
  at::Tensor position_ids_;
  at::Tensor segment_ids_;
};

class BertSelfAttention final : public torch::nn::Module {
 public:
  explicit BertSelfAttention(const BertConfig& config)
      : heads_(config.heads), dropout_(config.dropout) {
    query_ = register_module("query", Dense(config.width, config.width));
    key_ = register_module("key", Dense(config.width, config.width));
    value_ = register_module("value", Dense(config.width, config.width));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const at::Tensor query = SplitHeads(query_->forward(x), heads_);
    const at::Tensor key = SplitHeads(key_->forward(x), heads_);
    const at::Tensor value = SplitHeads(value_->forward(x), heads_);
    const at::Tensor y = at::scaled_dot_product_attention(
        query, key, value, {}, is_training() ? dropout_ : 0);
    return MergeHeads(y);
  }

 private:
  std::int64_t heads_;
  double dropout_;
  Dense query_ = nullptr;
  Dense key_ = nullptr;
  Dense value_ = nullptr;
};

struct BertLayer : torch::nn::Module {
  explicit BertLayer(const BertConfig& config) {
    attention_ = register_module("attention",
                                 std::make_shared<BertSelfAttention>(config));
    attention_output_ = register_module(
        "attention_output",
        std::make_shared<BranchOutput>(config.width, config.width,
                                       config.dropout, kBertEpsilon));
    intermediate_->Add(Dense(config.width, config.inner));
    AddActivation(intermediate_, "gelu");
    register_module("intermediate", intermediate_);
    output_ = register_module(
        "output", std::make_shared<BranchOutput>(config.inner, config.width,
                                                 config.dropout, kBertEpsilon));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const at::Tensor attended = Attend(x);
    const at::Tensor inner = intermediate_->forward(attended);
    return output_->forward(inner, attended);
  }

 private:
  at::Tensor Attend(const at::Tensor& x) {
    const at::Tensor y = attention_->forward(x);
    return attention_output_->forward(y, x);
  }

  std::shared_ptr<BertSelfAttention> attention_;
  std::shared_ptr<BranchOutput> attention_output_;
  Chain intermediate_;
  std::shared_ptr<BranchOutput> output_;
};

class Bert final : public Network {
 public:
  explicit Bert(const BertConfig& config) {
    features_->Add("embeddings", std::make_shared<Embeddings>(config));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      features_->Add(std::make_shared<BertLayer>(config));
    }
    register_module("features", features_);
    pooler_ = register_module("pooler", Dense(config.width, config.width));
  }

  /// Tokens i64[batch, seq] to all states [batch, seq, width] and that of the
  /// first token after the pooler [batch, width].
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor states = features_->forward(inputs.front());
    at::Tensor pooled = states.select(1, 0);
    pooled = pooler_->forward(pooled);
    pooled = at::tanh(pooled);
    return {states, pooled};
  }

 private:
  Chain features_;
  Dense pooler_ = nullptr;
};

std::shared_ptr<Network> BertConfig::Make() const {
  RequireHeads(width, heads);
  RequirePositions(seq, positions);
  Require(segments > 0, "segments=0: expected at least 1");
  return std::make_shared<Bert>(*this);
}

constexpr std::array<Variant, 2> kBertVariants = {{
    {"bert_base", ""},
    {"bert_large", "width=1024&depth=24&heads=16&inner=4096"},
}};

}  // namespace

const Family kBert = {"bert", kBertVariants, &Configure<BertConfig>};

}  // namespace foretell::zoo
