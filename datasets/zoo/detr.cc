// DETR (Carion et al. 2020) as facebookresearch/detr: a ResNet whose norms are
// fixed, an encoder over its last feature map, and a decoder of learned
// queries, each of which is a class and a box. What is not trained there is not
// counted among the parameters, as in its published 41.3 million.

#include <fmt/core.h>
#include <torch/nn/modules/embedding.h>

#include <array>
#include <numbers>

#include "datasets/zoo/detr_layers.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/frozen_resnet.h"
#include "datasets/zoo/layers.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kFeatureChannels = 2048;
constexpr std::int64_t kBoxSides = 4;
constexpr double kTemperature = 10000;
constexpr double kPositionEpsilon = 1e-6;

struct DetrConfig {
  std::vector<std::int64_t> layers = {3, 4, 6, 3};  ///< Of the ResNet.
  bool dilated = false;  ///< "DC5": a last feature map of twice the edges.
  std::int64_t height = 800;
  std::int64_t width = 1333;
  std::int64_t hidden = 256;  ///< Of the transformer; even.
  std::int64_t heads = 8;
  std::int64_t inner = 2048;
  std::int64_t depth = 6;  ///< Layers of the encoder, and of the decoder.
  std::int64_t queries = 100;
  std::int64_t classes = 91;  ///< Without "no object".
  double dropout = 0.1;

  FORETELL_FIELDS(layers, dilated, height, width, hidden, heads, inner, depth,
                  queries, classes, dropout)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("image", DType::kF32, {3, height, width})};
  }
  std::shared_ptr<Network> Make() const;
  DetrWidths Widths() const { return {hidden, heads, inner, dropout}; }
};

/// Sines and cosines of one coordinate, [batch, height, width, width of it].
at::Tensor Waves(const at::Tensor& coordinate, const at::Tensor& wavelengths) {
  const at::Tensor angles = coordinate.unsqueeze(-1) / wavelengths;
  const at::Tensor even = angles.slice(-1, 0, {}, 2).sin();
  const at::Tensor odd = angles.slice(-1, 1, {}, 2).cos();
  return at::stack({even, odd}, 4).flatten(3);
}

/// Where each place of the feature map is, as parts of the whole image:
/// [batch, hidden, height, width].
at::Tensor SinePositions(const at::Tensor& mask, std::int64_t hidden) {
  const at::Tensor here = at::bitwise_not(mask);
  at::Tensor y = here.cumsum(1, at::kFloat);
  at::Tensor x = here.cumsum(2, at::kFloat);
  constexpr double kCircle = 2 * std::numbers::pi;
  y = y / (y.slice(1, -1) + kPositionEpsilon) * kCircle;
  x = x / (x.slice(2, -1) + kPositionEpsilon) * kCircle;
  const at::Tensor index =
      at::arange(hidden / 2, mask.options().dtype(at::kFloat));
  const at::Tensor exponents =
      2 * at::floor_divide(index, 2) / static_cast<double>(hidden / 2);
  const at::Tensor wavelengths = at::pow(kTemperature, exponents);
  const at::Tensor positions =
      at::cat({Waves(y, wavelengths), Waves(x, wavelengths)}, 3);
  return positions.permute({0, 3, 1, 2});
}

/// [batch, channels, height, width] as a sequence.
at::Tensor AsSequence(const at::Tensor& x) {
  return x.flatten(2).permute({2, 0, 1});
}

class Detr final : public Network {
 public:
  explicit Detr(const DetrConfig& config)
      : hidden_(config.hidden),
        backbone_(FrozenResNet(
            {.layers = config.layers, .dilated = config.dilated})) {
    register_module("backbone", backbone_);
    projection_ = register_module(
        "input_proj", Conv({.in = kFeatureChannels, .out = hidden_}, true));
    queries_ = register_module("query_embed",
                               torch::nn::Embedding(config.queries, hidden_));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      const std::string number = fmt::format("{}", i);
      encoder_.push_back(
          register_module("encoder" + number,
                          std::make_shared<DetrLayer>(config.Widths(), false)));
      decoder_.push_back(
          register_module("decoder" + number,
                          std::make_shared<DetrLayer>(config.Widths(), true)));
    }
    norm_ = register_module("norm", Norm(hidden_, 1e-5));
    classes_ =
        register_module("class_embed", Dense(hidden_, config.classes + 1));
    boxes_->Add(Dense(hidden_, hidden_));
    AddActivation(boxes_, "relu");
    boxes_->Add(Dense(hidden_, hidden_));
    AddActivation(boxes_, "relu");
    boxes_->Add(Dense(hidden_, kBoxSides));
    register_module("bbox_embed", boxes_);
  }

  /// An image [batch, 3, height, width]; returns classes [batch, queries,
  /// classes + 1] and boxes [batch, queries, 4] of the last layer; in training
  /// those of all, [depth, …].
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor& image = inputs.front();
    const at::Tensor padding =
        at::zeros({image.size(0), image.size(2), image.size(3)},
                  image.options().dtype(at::kBool));
    const at::Tensor features = backbone_->forward(image);
    const at::Tensor mask =
        at::upsample_nearest2d(padding.unsqueeze(0).to(at::kFloat),
                               features.sizes().slice(2))
            .squeeze(0)
            .to(at::kBool);
    const at::Tensor states = Transform(features, mask);
    at::Tensor classes = classes_->forward(states);
    at::Tensor boxes = boxes_->forward(states).sigmoid();
    if (is_training()) return {classes, boxes};
    return {classes.select(0, -1), boxes.select(0, -1)};
  }

 private:
  /// Queries after every layer of the decoder, [depth, batch, queries, hidden].
  at::Tensor Transform(const at::Tensor& features, const at::Tensor& mask) {
    DetrContext context = {
        .mask = mask.flatten(1),
        .positions = AsSequence(
            SinePositions(mask, hidden_).to(features.scalar_type()))};
    at::Tensor memory = AsSequence(projection_->forward(features));
    for (const auto& layer : encoder_) memory = layer->Run(memory, context);
    context.memory = memory;
    context.queries =
        queries_->weight.unsqueeze(1).repeat({1, features.size(0), 1});
    at::Tensor target = at::zeros_like(context.queries);
    std::vector<at::Tensor> states;
    for (const auto& layer : decoder_) {
      target = layer->Run(target, context);
      states.push_back(norm_->forward(target));
    }
    return at::stack(states).transpose(1, 2);
  }

  std::int64_t hidden_;
  Chain backbone_;
  torch::nn::Conv2d projection_ = nullptr;
  torch::nn::Embedding queries_ = nullptr;
  std::vector<std::shared_ptr<DetrLayer>> encoder_;
  std::vector<std::shared_ptr<DetrLayer>> decoder_;
  torch::nn::LayerNorm norm_ = nullptr;
  Dense classes_ = nullptr;
  Chain boxes_;
};

std::shared_ptr<Network> DetrConfig::Make() const {
  Require(hidden % 4 == 0, "hidden must be a multiple of 4");
  Require(layers.size() == 4, "layers: expected four stages");
  Require(height > 0 && width > 0, "height and width must be positive");
  return std::make_shared<Detr>(*this);
}

constexpr std::array<Variant, 3> kDetrVariants = {{
    {"detr_resnet50", ""},
    {"detr_resnet50_dc5", "dilated=true"},
    {"detr_resnet101", "layers=3,4,23,3"},
}};

}  // namespace

const Family kDetr = {"detr", kDetrVariants, &Configure<DetrConfig>};

}  // namespace foretell::zoo
