// Plain networks of fully connected layers.

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

struct MlpConfig {
  std::int64_t inputs = 784;
  std::vector<std::int64_t> hidden = {512, 256};  ///< Widths, first to last.
  std::int64_t outputs = 10;
  std::string activation = "relu";  ///< A name of AddActivation.
  bool batch_norm = false;          ///< Before each activation.
  double dropout = 0;               ///< After each activation.

  FORETELL_FIELDS(inputs, hidden, outputs, activation, batch_norm, dropout)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("features", DType::kF32, {inputs})};
  }
  std::shared_ptr<Network> Make() const;
};

class Mlp final : public UnaryNetwork {
 public:
  explicit Mlp(const MlpConfig& config) {
    std::int64_t in = config.inputs;
    for (const std::int64_t width : config.hidden) {
      layers_->Add(Dense(in, width));
      if (config.batch_norm) layers_->Add(torch::nn::BatchNorm1d(width));
      AddActivation(layers_, config.activation);
      if (config.dropout > 0) layers_->Add(torch::nn::Dropout(config.dropout));
      in = width;
    }
    layers_->Add(Dense(in, config.outputs));
    register_module("layers", layers_);
  }

  at::Tensor forward(const at::Tensor& x) override {
    return layers_->forward(x);
  }

 private:
  Chain layers_;
};

std::shared_ptr<Network> MlpConfig::Make() const {
  return std::make_shared<Mlp>(*this);
}

constexpr std::array<Variant, 3> kMlpVariants = {{
    {"mlp_small", "hidden=128,64"},
    {"mlp_medium", "hidden=1024,1024,1024"},
    {"mlp_large", "inputs=3072&hidden=4096,4096,4096,4096&outputs=1000"},
}};

}  // namespace

const Family kMlp = {"mlp", kMlpVariants, &Configure<MlpConfig>};

}  // namespace foretell::zoo
