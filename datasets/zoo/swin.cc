// Swin transformer (Liu et al. 2021) with timm's choices: attention within
// windows, every second block on an image rolled by half a window. Images need
// not be multiples of the window: as in timm, zeros fill the last one.

#include <fmt/core.h>

#include <array>
#include <numeric>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"
#include "datasets/zoo/window_attention.h"
#include "src/core/numbers.h"

namespace foretell::zoo {
namespace {

constexpr double kSwinEpsilon = 1e-5;

struct SwinConfig : ImageClassifier {
  std::int64_t patch_size = 4;  ///< Divides image_size.
  std::int64_t window = 7;      ///< Patches a side.
  std::int64_t width = 96;  ///< Channels of the first stage, doubled per stage.
  std::vector<std::int64_t> layers = {2, 2, 6, 2};   ///< Blocks per stage.
  std::vector<std::int64_t> heads = {3, 6, 12, 24};  ///< Per stage.
  std::int64_t mlp_ratio = 4;
  double drop_path = 0.1;  ///< Rate of the last block.

  FORETELL_FIELDS(patch_size, window, width, layers, heads, mlp_ratio,
                  drop_path, image_size, channels, classes)

  std::shared_ptr<Network> Make() const;
};

/// `x` [batch, height, width, channels] with zeros below and to the right.
/// Copies even if it adds nothing, as in Python.
at::Tensor PadImage(const at::Tensor& x, std::int64_t added) {
  return at::pad(x, {0, 0, 0, added, 0, added});
}

struct BlockShape {
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t resolution = 0;  ///< Tokens a side.
  bool is_shifted = false;
  double drop_path = 0;
};

struct SwinBlock : torch::nn::Module {
  SwinBlock(const SwinConfig& config, const BlockShape& shape)
      : windows_(WindowShape::Fit(shape.resolution, config.window,
                                  shape.is_shifted)),
        drop_path_(shape.drop_path) {
    norm_ = register_module("norm1", Norm(shape.width, kSwinEpsilon));
    attention_ =
        register_module("attn", std::make_shared<WindowAttention>(
                                    shape.width, shape.heads, windows_.window));
    mlp_->Add("norm", Norm(shape.width, kSwinEpsilon));
    mlp_->Add("mlp",
              FeedForward(shape.width, config.mlp_ratio * shape.width, "gelu"));
    mlp_->Add("drop_path", drop_path_);
    register_module("mlp", mlp_);
    register_module("drop_path", drop_path_);
    if (windows_.shift > 0) {
      mask_ = register_buffer(
          "attn_mask", ShiftMask(windows_, windows_.Padded(shape.resolution)));
    }
  }

  /// x: [batch, height, width, channels].
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = at::add(x, Attend(x));
    y = y.reshape({x.size(0), -1, x.size(3)});
    y = at::add(y, mlp_->forward(y));
    return y.reshape(x.sizes());
  }

 private:
  at::Tensor Attend(const at::Tensor& x) {
    at::Tensor y = norm_->forward(x);
    y = AttendInWindows(y);
    return drop_path_->forward(y);
  }

  at::Tensor AttendInWindows(const at::Tensor& x) {
    const std::int64_t side = x.size(1);
    const std::int64_t shift = windows_.shift;
    const std::int64_t padded = windows_.Padded(side);
    at::Tensor y = shift > 0 ? at::roll(x, {-shift, -shift}, {1, 2}) : x;
    y = PadImage(y, padded - side);
    const at::Tensor windows = SplitWindows(y, windows_.window);
    const at::Tensor attended = attention_->forward(windows, mask_);
    y = MergeWindows(attended, windows_.window, padded);
    y = y.slice(1, 0, side).slice(2, 0, side).contiguous();
    return shift > 0 ? at::roll(y, {shift, shift}, {1, 2}) : y;
  }

  WindowShape windows_;
  torch::nn::LayerNorm norm_ = nullptr;
  std::shared_ptr<WindowAttention> attention_;
  at::Tensor mask_;
  DropPath drop_path_;
  Chain mlp_;
};

/// Four neighbours become one token of twice the width.
struct PatchMerging : torch::nn::Module {
  explicit PatchMerging(std::int64_t width) {
    norm_ = register_module("norm", Norm(4 * width, kSwinEpsilon));
    reduction_ = register_module(
        "reduction", Dense(4 * width, 2 * width, /*has_bias=*/false));
  }

  /// x: [batch, height, width, channels].
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = PadImage(x, x.size(1) % 2);
    const std::int64_t half = y.size(1) / 2;
    y = y.reshape({x.size(0), half, 2, half, 2, x.size(3)})
            .permute({0, 1, 3, 4, 2, 5})
            .flatten(3);
    y = norm_->forward(y);
    return reduction_->forward(y);
  }

 private:
  torch::nn::LayerNorm norm_ = nullptr;
  Dense reduction_ = nullptr;
};

class Swin final : public UnaryNetwork {
 public:
  explicit Swin(const SwinConfig& config) {
    patches_ = register_module("patch_embed", Conv({.in = config.channels,
                                                    .out = config.width,
                                                    .kernel = config.patch_size,
                                                    .stride = config.patch_size,
                                                    .padding = 0},
                                                   /*bias=*/true));
    patch_norm_ =
        register_module("patch_norm", Norm(config.width, kSwinEpsilon));
    const std::int64_t width = AddStages(config);
    register_module("layers", layers_);
    norm_ = register_module("norm", Norm(width, kSwinEpsilon));
    head_ = register_module("head", Dense(width, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = patches_->forward(x);
    y = y.permute({0, 2, 3, 1});
    y = patch_norm_->forward(y);
    y = layers_->forward(y);
    y = norm_->forward(y);
    y = y.mean({1, 2});
    return head_->forward(y);
  }

 private:
  /// Returns the width of the last stage.
  std::int64_t AddStages(const SwinConfig& config) {
    const std::vector<double> rates =
        DropPathRates(std::accumulate(config.layers.begin(),
                                      config.layers.end(), std::int64_t{0}),
                      config.drop_path);
    BlockShape shape{.width = config.width,
                     .resolution = config.image_size / config.patch_size};
    std::size_t block = 0;
    for (std::size_t stage = 0; stage < config.layers.size(); ++stage) {
      if (stage > 0) {
        layers_->Add(std::make_shared<PatchMerging>(shape.width));
        shape.width *= 2;
        shape.resolution = (shape.resolution + 1) / 2;
      }
      RequireHeads(shape.width, config.heads[stage]);
      shape.heads = config.heads[stage];
      for (std::int64_t i = 0; i < config.layers[stage]; ++i) {
        shape.is_shifted = i % 2 == 1;
        shape.drop_path = rates[block++];
        layers_->Add(std::make_shared<SwinBlock>(config, shape));
      }
    }
    return shape.width;
  }

  torch::nn::Conv2d patches_ = nullptr;
  torch::nn::LayerNorm patch_norm_ = nullptr;
  Chain layers_;
  torch::nn::LayerNorm norm_ = nullptr;
  Dense head_ = nullptr;
};

std::shared_ptr<Network> SwinConfig::Make() const {
  Require(!layers.empty() && layers.size() == heads.size(),
          fmt::format("layers has {}, heads has {}",
                      Counted(layers.size(), "stage"), heads.size()));
  Require(window > 0, "window=0: expected at least 1");
  RequireMultiple(image_size, patch_size);
  return std::make_shared<Swin>(*this);
}

constexpr std::array<Variant, 4> kSwinVariants = {{
    {"swin_tiny_patch4_window7_224", ""},
    {"swin_small_patch4_window7_224", "layers=2,2,18,2"},
    {"swin_base_patch4_window7_224",
     "width=128&layers=2,2,18,2&heads=4,8,16,32"},
    {"swin_large_patch4_window7_224",
     "width=192&layers=2,2,18,2&heads=6,12,24,48"},
}};

}  // namespace

const Family kSwin = {"swin", kSwinVariants, &Configure<SwinConfig>};

}  // namespace foretell::zoo
