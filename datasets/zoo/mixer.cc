// MLP-Mixer (Tolstikhin et al. 2021) with timm's choices: layers over the
// patches of one channel take turns with layers over the channels of one patch.

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kMixerEpsilon = 1e-6;

struct MixerConfig : ImageClassifier {
  std::int64_t patch_size = 16;  ///< Divides image_size.
  std::int64_t width = 512;
  std::int64_t depth = 8;
  std::int64_t token_width = 256;     ///< Inner width across patches.
  std::int64_t channel_width = 2048;  ///< Inner width across channels.

  FORETELL_FIELDS(patch_size, width, depth, token_width, channel_width,
                  image_size, channels, classes)

  std::shared_ptr<Network> Make() const;

  std::int64_t patches() const {
    return (image_size / patch_size) * (image_size / patch_size);
  }
};

struct MixerBlock : torch::nn::Module {
  explicit MixerBlock(const MixerConfig& config) {
    norm_ = register_module("norm1", Norm(config.width, kMixerEpsilon));
    tokens_ = register_module(
        "mlp_tokens",
        FeedForward(config.patches(), config.token_width, "gelu"));
    channels_->Add("norm", Norm(config.width, kMixerEpsilon));
    channels_->Add("mlp",
                   FeedForward(config.width, config.channel_width, "gelu"));
    register_module("channels", channels_);
  }

  /// x: [batch, patches, width].
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = at::add(x, MixTokens(x));
    y = at::add(y, channels_->forward(y));
    return y;
  }

 private:
  at::Tensor MixTokens(const at::Tensor& x) {
    at::Tensor y = norm_->forward(x);
    y = y.transpose(1, 2);
    y = tokens_->forward(y);
    return y.transpose(1, 2);
  }

  torch::nn::LayerNorm norm_ = nullptr;
  Chain tokens_ = nullptr;
  Chain channels_;
};

class Mixer final : public UnaryNetwork {
 public:
  explicit Mixer(const MixerConfig& config) {
    stem_ = register_module("stem", Conv({.in = config.channels,
                                          .out = config.width,
                                          .kernel = config.patch_size,
                                          .stride = config.patch_size,
                                          .padding = 0},
                                         /*bias=*/true));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      blocks_->Add(std::make_shared<MixerBlock>(config));
    }
    register_module("blocks", blocks_);
    norm_ = register_module("norm", Norm(config.width, kMixerEpsilon));
    head_ = register_module("head", Dense(config.width, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = stem_->forward(x);
    y = y.flatten(2).transpose(1, 2);
    y = blocks_->forward(y);
    y = norm_->forward(y);
    y = y.mean(1);
    return head_->forward(y);
  }

 private:
  torch::nn::Conv2d stem_ = nullptr;
  Chain blocks_;
  torch::nn::LayerNorm norm_ = nullptr;
  Dense head_ = nullptr;
};

std::shared_ptr<Network> MixerConfig::Make() const {
  RequireMultiple(image_size, patch_size);
  return std::make_shared<Mixer>(*this);
}

constexpr std::array<Variant, 2> kMixerVariants = {{
    {"mixer_s16_224", ""},
    {"mixer_b16_224", "width=768&depth=12&token_width=384&channel_width=3072"},
}};

}  // namespace

const Family kMixer = {"mixer", kMixerVariants, &Configure<MixerConfig>};

}  // namespace foretell::zoo
