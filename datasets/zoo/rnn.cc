// Recurrent networks: LSTM (Hochreiter and Schmidhuber 1997) and GRU (Cho et
// al. 2014) over words or vectors, with a prediction per step (a language
// model) or one for the sequence.
//
// lstm_medium and lstm_large are the language models of Zaremba et al. 2014.

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/rnn.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

struct RnnConfig {
  std::string cell = "lstm";  ///< Or "gru".
  std::int64_t layers = 2;
  std::int64_t inputs = 650;  ///< Width of a step's vector.
  std::int64_t hidden = 650;
  bool bidirectional = false;
  double dropout = 0.5;  ///< Before, between and after the layers.
  /// Words; 0 for a network whose input is the vectors themselves.
  std::int64_t vocabulary = 10000;
  /// Outputs for the sequence; 0 for one of the vocabulary per step.
  std::int64_t classes = 0;
  std::int64_t seq = 35;  ///< Steps.

  FORETELL_FIELDS(cell, layers, inputs, hidden, bidirectional, dropout,
                  vocabulary, classes, seq)

  std::vector<InputSpec> Inputs() const {
    if (vocabulary > 0) return {BatchedInput("tokens", DType::kI64, {seq})};
    return {BatchedInput("features", DType::kF32, {seq, inputs})};
  }
  std::shared_ptr<Network> Make() const;
};

template <typename Options>
Options CellOptions(const RnnConfig& config) {
  return Options(config.inputs, config.hidden)
      .num_layers(config.layers)
      .bidirectional(config.bidirectional)
      .dropout(config.layers > 1 ? config.dropout : 0)
      .batch_first(true);
}

class Rnn final : public UnaryNetwork {
 public:
  explicit Rnn(const RnnConfig& config)
      : dropout_(config.dropout), is_classifier_(config.classes > 0) {
    register_module("dropout", dropout_);
    if (config.vocabulary > 0) {
      words_ = register_module(
          "words", torch::nn::Embedding(config.vocabulary, config.inputs));
    }
    if (config.cell == "lstm") {
      lstm_ = register_module(
          "lstm", torch::nn::LSTM(CellOptions<torch::nn::LSTMOptions>(config)));
    } else {
      gru_ = register_module(
          "gru", torch::nn::GRU(CellOptions<torch::nn::GRUOptions>(config)));
    }
    const std::int64_t width =
        config.bidirectional ? 2 * config.hidden : config.hidden;
    head_ = register_module(
        "head",
        Dense(width, is_classifier_ ? config.classes : config.vocabulary));
  }

  /// x: i64[batch, seq], or [batch, seq, inputs] without a vocabulary.
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = x;
    if (!words_.is_empty()) y = words_->forward(y);
    y = dropout_->forward(y);
    y = lstm_.is_empty() ? std::get<0>(gru_->forward(y))
                         : std::get<0>(lstm_->forward(y));
    if (is_classifier_) y = y.select(1, -1);
    y = dropout_->forward(y);
    return head_->forward(y);
  }

  std::optional<NamedLoss> Loss(
      const std::vector<at::Tensor>& inputs,
      const std::vector<at::Tensor>& outputs) const override {
    if (is_classifier_) return std::nullopt;
    return CrossEntropyOfTokens(outputs.front(), inputs.front());
  }

 private:
  torch::nn::Dropout dropout_;
  bool is_classifier_;
  torch::nn::Embedding words_ = nullptr;
  torch::nn::LSTM lstm_ = nullptr;
  torch::nn::GRU gru_ = nullptr;
  Dense head_ = nullptr;
};

std::shared_ptr<Network> RnnConfig::Make() const {
  Require(cell == "lstm" || cell == "gru",
          "cell=" + cell + ": expected lstm or gru");
  Require(vocabulary > 0 || classes > 0,
          "vocabulary=0 and classes=0: nothing to predict");
  Require(layers > 0 && hidden > 0 && inputs > 0 && seq > 0,
          "layers, hidden, inputs and seq must be positive");
  return std::make_shared<Rnn>(*this);
}

constexpr std::array<Variant, 6> kRnnVariants = {{
    {"lstm_medium", ""},
    {"lstm_large", "inputs=1500&hidden=1500&dropout=0.65"},
    {"gru_medium", "cell=gru"},
    {"gru_large", "cell=gru&inputs=1500&hidden=1500&dropout=0.65"},
    {"bilstm_classifier",
     "inputs=300&hidden=256&bidirectional=true&vocabulary=30000&classes=2&"
     "seq=256"},
    {"gru_classifier",
     "cell=gru&inputs=80&hidden=512&layers=3&bidirectional=true&dropout=0.2&"
     "vocabulary=0&classes=35&seq=128"},
}};

}  // namespace

const Family kRnn = {"rnn", kRnnVariants, &Configure<RnnConfig>};

}  // namespace foretell::zoo
