// Networks of weather forecasting, after the applications of the MAELSTROM
// project, for inputs that no image network has.
//
// Taken from the project's reports: what they do, their kind and the shape of
// what they read. A U-Net post-processes temperature forecasts from 17
// predictors on 512×512 points; a CNN corrects ensemble statistics from 14
// fields on 361×720 points; a U-Net downscales temperature on 96×120 points
// from 10 predictors; a recurrent network emulates a radiation scheme on
// columns of the atmosphere.
//
// Assumed, for want of numbers: every width and depth, the convolutions per
// level, 137 levels, 64 recurrent units in 3 layers run up and down, 27
// variables per level and 17 per column, and the number of results. They stand
// in the table below, to be changed by name; what these networks cost is thus
// plausible, not a reproduction.

#include <ATen/ops/cat.h>
#include <torch/nn/modules/rnn.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/transformer_layers.h"
#include "datasets/zoo/unet_network.h"

namespace foretell::zoo {
namespace {

struct WeatherConfig {
  std::string network = "unet";  ///< Or "cnn", "rnn".
  std::int64_t height = 512;     ///< Grid points; rnn: levels of a column.
  std::int64_t width = 512;      ///< Grid points; rnn: unused.
  std::int64_t channels = 17;    ///< Predictors at each point or level.
  std::int64_t scalars = 0;      ///< rnn: predictors of a whole column.
  std::int64_t outputs = 3;      ///< Results at each point or level.
  /// Channels of the first level, or recurrent units.
  std::int64_t features = 64;
  std::int64_t depth = 4;  ///< Poolings, hidden or recurrent layers.
  /// unet: convolutions per encoder level; empty: two each.
  std::vector<std::int64_t> encoder_layers;
  std::string cell = "lstm";  ///< rnn: or "gru".

  FORETELL_FIELDS(network, height, width, channels, scalars, outputs, features,
                  depth, encoder_layers, cell)

  std::vector<InputSpec> Inputs() const;
  std::shared_ptr<Network> Make() const;
};

std::vector<InputSpec> WeatherConfig::Inputs() const {
  if (network != "rnn") {
    return {BatchedInput("fields", DType::kF32, {channels, height, width})};
  }
  std::vector<InputSpec> inputs = {
      BatchedInput("profiles", DType::kF32, {height, channels})};
  if (scalars > 0) {
    inputs.push_back(BatchedInput("scalars", DType::kF32, {scalars}));
  }
  return inputs;
}

/// 3×3 convolutions with batch norm at full resolution.
class FieldNetwork final : public UnaryNetwork {
 public:
  explicit FieldNetwork(const WeatherConfig& config) {
    std::int64_t in = config.channels;
    for (std::int64_t i = 0; i < config.depth; ++i) {
      AddConvNorm(layers_, {.in = in, .out = config.features, .kernel = 3},
                  "relu");
      in = config.features;
    }
    layers_->Add(Conv({.in = in, .out = config.outputs}, /*bias=*/true));
    register_module("layers", layers_);
  }

  at::Tensor forward(const at::Tensor& x) override {
    return layers_->forward(x);
  }

 private:
  Chain layers_;
};

/// Bidirectional recurrence over levels between dense layers on each level.
/// Scalars join every level.
template <typename Recurrence, typename Options>
class ColumnNetwork final : public Network {
 public:
  explicit ColumnNetwork(const WeatherConfig& config) {
    encoder_ = register_module(
        "encoder", Dense(config.channels + config.scalars, config.features));
    recurrence_ = register_module(
        "recurrence", Recurrence(Options(config.features, config.features)
                                     .num_layers(config.depth)
                                     .batch_first(true)
                                     .bidirectional(true)));
    decoder_ =
        register_module("decoder", Dense(2 * config.features, config.features));
    result_ = register_module("result", Dense(config.features, config.outputs));
  }

  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    at::Tensor y = inputs.size() > 1 ? Join(inputs[0], inputs[1]) : inputs[0];
    y = encoder_->forward(y);
    y = at::relu_(y);
    y = std::get<0>(recurrence_->forward(y));
    y = decoder_->forward(y);
    y = at::relu_(y);
    return {result_->forward(y)};
  }

 private:
  /// profiles [batch, levels, n] and scalars [batch, m] → [batch, levels, n+m].
  static at::Tensor Join(const at::Tensor& profiles,
                         const at::Tensor& scalars) {
    const at::Tensor repeated =
        scalars.unsqueeze(1).expand({-1, profiles.size(1), -1});
    return at::cat({profiles, repeated}, 2);
  }

  Dense encoder_ = nullptr;
  Recurrence recurrence_ = nullptr;
  Dense decoder_ = nullptr;
  Dense result_ = nullptr;
};

std::shared_ptr<Network> MakeWeatherUNet(const WeatherConfig& config) {
  RequireHalves(config.height, config.depth);
  RequireHalves(config.width, config.depth);
  return MakeUNet({.in = config.channels,
                   .out = config.outputs,
                   .width = config.features,
                   .depth = config.depth,
                   .encoder_layers = config.encoder_layers,
                   .bias = true});
}

std::shared_ptr<Network> MakeColumn(const WeatherConfig& config) {
  if (config.cell == "lstm") {
    return std::make_shared<
        ColumnNetwork<torch::nn::LSTM, torch::nn::LSTMOptions>>(config);
  }
  Require(config.cell == "gru",
          "cell=" + config.cell + ": expected lstm or gru");
  return std::make_shared<ColumnNetwork<torch::nn::GRU, torch::nn::GRUOptions>>(
      config);
}

std::shared_ptr<Network> WeatherConfig::Make() const {
  if (network == "unet") return MakeWeatherUNet(*this);
  if (network == "cnn") return std::make_shared<FieldNetwork>(*this);
  Require(network == "rnn",
          "network=" + network + ": expected unet, cnn or rnn");
  return MakeColumn(*this);
}

constexpr std::array<Variant, 4> kWeatherVariants = {{
    {"weather_unet", "network=unet&height=512&width=512&channels=17"},
    {"weather_radiation_rnn",
     "network=rnn&height=137&width=0&channels=27&scalars=17&outputs=3&"
     "features=64&depth=3"},
    {"weather_cnn",
     "network=cnn&height=361&width=720&channels=14&outputs=2&features=64&"
     "depth=4"},
    {"weather_downscaling",
     "network=unet&height=96&width=120&channels=10&outputs=1&features=56&"
     "depth=3&encoder_layers=2,1,1,1"},
}};

}  // namespace

const Family kWeather = {"weather", kWeatherVariants,
                         &Configure<WeatherConfig>};

}  // namespace foretell::zoo
