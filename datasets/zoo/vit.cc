// Vision transformer (Dosovitskiy et al. 2020) with timm's choices: query, key
// and value from one product, fused attention, norms before the branches, and a
// class token whose final state is classified, or, without classes, the result.

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kVitEpsilon = 1e-6;

struct VitConfig : ImageClassifier {
  std::int64_t patch_size = 16;  ///< Divides image_size.
  std::int64_t width = 768;
  std::int64_t depth = 12;
  std::int64_t heads = 12;
  std::int64_t mlp_ratio = 4;
  bool layer_scale = false;  ///< A factor per channel of both branches.

  FORETELL_FIELDS(patch_size, width, depth, heads, mlp_ratio, layer_scale,
                  image_size, channels, classes)

  std::shared_ptr<Network> Make() const;
};

class VitSelfAttention final : public torch::nn::Module {
 public:
  VitSelfAttention(std::int64_t width, std::int64_t heads) : heads_(heads) {
    qkv_ = register_module("qkv", Dense(width, 3 * width));
    proj_ = register_module("proj", Dense(width, width));
  }

  /// x: [batch, tokens, width].
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const at::Tensor qkv =
        qkv_->forward(x)
            .reshape({x.size(0), x.size(1), 3, heads_, x.size(2) / heads_})
            .permute({2, 0, 3, 1, 4});
    const std::vector<at::Tensor> parts = qkv.unbind(0);
    at::Tensor y =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    y = y.transpose(1, 2).reshape(x.sizes());
    return proj_->forward(y);
  }

 private:
  std::int64_t heads_;
  Dense qkv_ = nullptr;
  Dense proj_ = nullptr;
};

struct VitScale : torch::nn::Module {
  explicit VitScale(std::int64_t width)
      : gamma(register_parameter("gamma", at::ones({width}))) {}

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    return at::mul(x, gamma);
  }

  at::Tensor gamma;
};

struct VitBlock : torch::nn::Module {
  explicit VitBlock(const VitConfig& config) {
    attention_->Add("norm", Norm(config.width, kVitEpsilon));
    attention_->Add(
        "attn", std::make_shared<VitSelfAttention>(config.width, config.heads));
    mlp_->Add("norm", Norm(config.width, kVitEpsilon));
    mlp_->Add("mlp", FeedForward(config.width, config.mlp_ratio * config.width,
                                 "gelu"));
    if (config.layer_scale) {
      attention_->Add("ls", std::make_shared<VitScale>(config.width));
      mlp_->Add("ls", std::make_shared<VitScale>(config.width));
    }
    register_module("attention", attention_);
    register_module("mlp", mlp_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = at::add(x, attention_->forward(x));
    y = at::add(y, mlp_->forward(y));
    return y;
  }

 private:
  Chain attention_;
  Chain mlp_;
};

class Vit final : public UnaryNetwork {
 public:
  explicit Vit(const VitConfig& config) {
    const std::int64_t side = config.image_size / config.patch_size;
    patches_ = register_module("patch_embed", Conv({.in = config.channels,
                                                    .out = config.width,
                                                    .kernel = config.patch_size,
                                                    .stride = config.patch_size,
                                                    .padding = 0},
                                                   /*bias=*/true));
    class_token_ =
        register_parameter("cls_token", at::zeros({1, 1, config.width}));
    position_ = register_parameter(
        "pos_embed", at::zeros({1, side * side + 1, config.width}));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      blocks_->Add(std::make_shared<VitBlock>(config));
    }
    register_module("blocks", blocks_);
    norm_ = register_module("norm", Norm(config.width, kVitEpsilon));
    if (config.classes == 0) return;
    head_ = register_module("head", Dense(config.width, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = Embed(x);
    y = blocks_->forward(y);
    y = norm_->forward(y);
    y = y.select(1, 0);
    return head_ ? head_->forward(y) : y;
  }

 private:
  /// [batch, 1 + patches, width]: the class token and the patches with their
  /// positions.
  at::Tensor Embed(const at::Tensor& x) {
    at::Tensor y = patches_->forward(x);
    y = y.flatten(2).transpose(1, 2);
    y = at::cat({class_token_.expand({y.size(0), -1, -1}), y}, 1);
    return at::add(y, position_);
  }

  torch::nn::Conv2d patches_ = nullptr;
  at::Tensor class_token_;
  at::Tensor position_;
  Chain blocks_;
  torch::nn::LayerNorm norm_ = nullptr;
  Dense head_ = nullptr;
};

std::shared_ptr<Network> VitConfig::Make() const {
  RequireHeads(width, heads);
  RequireMultiple(image_size, patch_size);
  return std::make_shared<Vit>(*this);
}

// DINOv2 (Oquab et al. 2023) at timm's size of images.
constexpr std::array<Variant, 9> kVitVariants = {{
    {"vit_tiny_patch16_224", "width=192&heads=3"},
    {"vit_small_patch16_224", "width=384&heads=6"},
    {"vit_small_patch32_224", "width=384&heads=6&patch_size=32"},
    {"vit_base_patch16_224", ""},
    {"vit_base_patch32_224", "patch_size=32"},
    {"vit_large_patch16_224", "width=1024&depth=24&heads=16"},
    {"vit_small_patch14_dinov2",
     "image_size=518&patch_size=14&width=384&heads=6&layer_scale=true&classes="
     "0"},
    {"vit_base_patch14_dinov2",
     "image_size=518&patch_size=14&layer_scale=true&classes=0"},
    {"vit_large_patch14_dinov2",
     "image_size=518&patch_size=14&width=1024&depth=24&heads=16&layer_scale="
     "true&classes=0"},
}};

}  // namespace

const Family kVit = {"vit", kVitVariants, &Configure<VitConfig>};

}  // namespace foretell::zoo
