// CLIP (Radford et al. 2021) as transformers' CLIPModel: an encoder of images,
// one of texts, and the similarity of each image with each text.

#include <fmt/core.h>
#include <torch/nn/modules/embedding.h>

#include <array>

#include "datasets/zoo/encoder_block.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kClipEpsilon = 1e-5;
constexpr std::int64_t kClipHeadWidth = 64;

struct ClipConfig {
  std::int64_t image_width = 768;
  std::int64_t image_depth = 12;
  std::int64_t patch_size = 32;
  std::int64_t image_size = 224;  ///< A multiple of patch_size.
  std::int64_t text_width = 512;
  std::int64_t text_depth = 12;
  std::int64_t vocabulary = 49408;
  std::int64_t seq = 77;  ///< Tokens of a text, and number of positions.
  std::int64_t projection = 512;
  std::string tower = "both";  ///< Or "image", "text": its embedding.

  FORETELL_FIELDS(image_width, image_depth, patch_size, image_size, text_width,
                  text_depth, vocabulary, seq, projection, tower)

  bool HasImages() const { return tower != "text"; }
  bool HasTexts() const { return tower != "image"; }

  std::vector<InputSpec> Inputs() const {
    std::vector<InputSpec> inputs;
    if (HasImages()) inputs.push_back(ImageInput(3, image_size));
    if (HasTexts()) {
      inputs.push_back(BatchedInput("tokens", DType::kI64, {seq}));
    }
    return inputs;
  }
  std::shared_ptr<Network> Make() const;
};

class ImageTower final : public torch::nn::Module {
 public:
  explicit ImageTower(const ClipConfig& config) {
    const std::int64_t width = config.image_width;
    const std::int64_t side = config.image_size / config.patch_size;
    class_token_ = register_parameter("class_embedding", at::zeros({width}));
    patches_ =
        register_module("patch_embedding", Conv({.in = 3,
                                                 .out = width,
                                                 .kernel = config.patch_size,
                                                 .stride = config.patch_size,
                                                 .padding = 0},
                                                /*bias=*/false));
    positions_ = register_module("position_embedding",
                                 torch::nn::Embedding(side * side + 1, width));
    first_norm_ = register_module("pre_layrnorm", Norm(width, kClipEpsilon));
    blocks_ = register_module(
        "layers",
        EncoderBlocks(config.image_depth, {.width = width,
                                           .heads = width / kClipHeadWidth,
                                           .inner = 4 * width,
                                           .quick_gelu = true}));
    last_norm_ = register_module("post_layernorm", Norm(width, kClipEpsilon));
    projection_ =
        register_module("projection", Dense(width, config.projection, false));
  }

  /// x: f32[batch, 3, size, size]; returns [batch, projection].
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = Embed(x);
    y = first_norm_->forward(y);
    y = blocks_->forward(y);
    y = y.select(1, 0);
    y = last_norm_->forward(y);
    return projection_->forward(y);
  }

 private:
  at::Tensor Embed(const at::Tensor& x) {
    at::Tensor y = patches_->forward(x);
    y = y.flatten(2).transpose(1, 2);
    y = at::cat({class_token_.expand({y.size(0), 1, -1}), y}, 1);
    const at::Tensor ids =
        at::arange(y.size(1), x.options().dtype(at::kLong)).unsqueeze(0);
    return y + positions_->forward(ids);
  }

  at::Tensor class_token_;
  torch::nn::Conv2d patches_ = nullptr;
  torch::nn::Embedding positions_ = nullptr;
  torch::nn::LayerNorm first_norm_ = nullptr;
  Chain blocks_ = nullptr;
  torch::nn::LayerNorm last_norm_ = nullptr;
  Dense projection_ = nullptr;
};

class TextTower final : public torch::nn::Module {
 public:
  explicit TextTower(const ClipConfig& config) {
    const std::int64_t width = config.text_width;
    words_ = register_module("token_embedding",
                             torch::nn::Embedding(config.vocabulary, width));
    positions_ = register_module("position_embedding",
                                 torch::nn::Embedding(config.seq, width));
    blocks_ = register_module(
        "layers",
        EncoderBlocks(config.text_depth, {.width = width,
                                          .heads = width / kClipHeadWidth,
                                          .inner = 4 * width,
                                          .is_causal = true,
                                          .quick_gelu = true}));
    norm_ = register_module("final_layer_norm", Norm(width, kClipEpsilon));
    projection_ =
        register_module("projection", Dense(width, config.projection, false));
  }

  /// tokens: i64[batch, seq]; returns [batch, projection] of each text's last
  /// token, which has the largest number.
  at::Tensor forward(const at::Tensor& tokens) {
    const ModuleScope scope(*this);
    const at::Tensor words = words_->forward(tokens);
    const at::Tensor ids =
        at::arange(tokens.size(1), tokens.options()).unsqueeze(0);
    at::Tensor y = at::add(words, positions_->forward(ids));
    y = blocks_->forward(y);
    y = norm_->forward(y);
    const at::Tensor row = at::arange(tokens.size(0), tokens.options());
    y = y.index({row, tokens.argmax(-1)});
    return projection_->forward(y);
  }

 private:
  torch::nn::Embedding words_ = nullptr;
  torch::nn::Embedding positions_ = nullptr;
  Chain blocks_ = nullptr;
  torch::nn::LayerNorm norm_ = nullptr;
  Dense projection_ = nullptr;
};

/// x with rows of length one.
at::Tensor UnitRows(const at::Tensor& x) {
  at::Tensor length = at::pow(x, 2);
  length = length.sum(-1, /*keepdim=*/true);
  length = at::pow(length, 0.5);
  return x / length;
}

class Clip final : public Network {
 public:
  explicit Clip(const ClipConfig& config) {
    if (config.HasImages()) {
      image_ =
          register_module("vision_model", std::make_shared<ImageTower>(config));
    }
    if (config.HasTexts()) {
      text_ =
          register_module("text_model", std::make_shared<TextTower>(config));
    }
    if (!image_ || !text_) return;
    scale_ = register_parameter("logit_scale", at::zeros({}));
  }

  /// An image, a text or both, by the towers there are; returns the embedding,
  /// or [batch of images, batch of texts] and what it was made of.
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    if (!text_) return {image_->forward(inputs.front())};
    if (!image_) return {text_->forward(inputs.front())};
    at::Tensor images = image_->forward(inputs.front());
    at::Tensor texts = text_->forward(inputs.at(1));
    images = UnitRows(images);
    texts = UnitRows(texts);
    at::Tensor similarity = at::matmul(texts, images.t());
    similarity = similarity * scale_.exp();
    return {similarity.t(), texts, images};
  }

 private:
  std::shared_ptr<ImageTower> image_;
  std::shared_ptr<TextTower> text_;
  at::Tensor scale_;
};

std::shared_ptr<Network> ClipConfig::Make() const {
  Require(tower == "both" || tower == "image" || tower == "text",
          fmt::format("tower={}: expected both, image or text", tower));
  RequireMultiple(image_size, patch_size);
  Require(seq > 0, "seq must be positive");
  return std::make_shared<Clip>(*this);
}

constexpr std::array<Variant, 2> kClipVariants = {{
    {"clip_vit_base_patch32", ""},
    {"clip_vit_large_patch14",
     "image_width=1024&image_depth=24&patch_size=14&text_width=768&"
     "projection=768"},
}};

}  // namespace

const Family kClip = {"clip", kClipVariants, &Configure<ClipConfig>};

}  // namespace foretell::zoo
