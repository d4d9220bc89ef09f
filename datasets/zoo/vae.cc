// The autoencoder of Stable Diffusion (Rombach et al. 2022) as diffusers'
// AutoencoderKL: `encode` turns pictures into latent images of an eighth of
// their edge, `decode` turns those back. Training runs the first before each
// step, pipelines the second after the last one.

#include <fmt/core.h>

#include <array>

#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/spatial_transformer.h"

namespace foretell::zoo {
namespace {

constexpr double kVaeEpsilon = 1e-6;
constexpr std::int64_t kColours = 3;

/// What encoder and decoder have in common.
struct VaeConfig {
  /// Channels per level of the edge, from the picture down.
  std::vector<std::int64_t> widths = {128, 256, 512, 512};
  std::int64_t layers = 2;    ///< A level of the decoder has one block more.
  std::int64_t channels = 4;  ///< Of a latent image.
  bool quant_conv = true;     ///< A 1 × 1 convolution of the latent image.
};

struct VaeDecoderConfig : VaeConfig {
  std::int64_t image_size = 64;  ///< Edge of a latent image: an eighth.

  FORETELL_FIELDS(widths, layers, channels, quant_conv, image_size)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("latent", DType::kF32,
                         {channels, image_size, image_size})};
  }
  std::shared_ptr<Network> Make() const;
};

struct VaeEncoderConfig : VaeConfig {
  std::int64_t image_size = 512;  ///< Edge of a picture.

  FORETELL_FIELDS(widths, layers, channels, quant_conv, image_size)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("picture", DType::kF32,
                         {kColours, image_size, image_size})};
  }
  std::shared_ptr<Network> Make() const;
};

/// Attention of one head over the positions of an image.
class LatentAttention final : public torch::nn::Module {
 public:
  explicit LatentAttention(std::int64_t width) {
    norm_ = register_module("group_norm", GroupsNorm(width, kVaeEpsilon));
    attention_ = register_module(
        "attention", std::make_shared<CrossAttention>(width, width, /*heads=*/1,
                                                      /*bias=*/true));
  }

  /// x: [batch, width, h, w]; returns the same shape.
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const at::Tensor rows = x.flatten(2);
    at::Tensor y = norm_->forward(rows);
    y = y.transpose(1, 2);
    y = attention_->forward(y, y);
    y = y.transpose(1, 2).reshape(x.sizes());
    return y + x;
  }

 private:
  torch::nn::GroupNorm norm_ = nullptr;
  std::shared_ptr<CrossAttention> attention_;
};

/// Residual blocks of one edge, then the convolution to the next edge.
struct VaeLevel {
  std::vector<std::shared_ptr<DiffusionResidualBlock>> blocks;
  torch::nn::Conv2d resize = nullptr;  ///< Empty: the edge stays.

  at::Tensor RunBlocks(const at::Tensor& x) const {
    at::Tensor y = x;
    for (const auto& block : blocks) y = block->forward(y);
    return y;
  }
};

/// The blocks of the smallest edge, and how both halves make theirs.
class VaeHalf : public UnaryNetwork {
 protected:
  torch::nn::Conv2d AddConv(const std::string& name, const ConvShape& shape) {
    return register_module(name, Conv(shape, /*bias=*/true));
  }

  std::shared_ptr<DiffusionResidualBlock> AddBlock(const std::string& name,
                                                   std::int64_t in,
                                                   std::int64_t out) {
    return register_module(
        name, std::make_shared<DiffusionResidualBlock>(in, out, /*time=*/0));
  }

  /// `count` blocks, the first of which changes the width from `in`.
  VaeLevel MakeLevel(const std::string& name, std::int64_t count,
                     std::int64_t in, std::int64_t out) {
    VaeLevel level;
    for (std::int64_t k = 0; k < count; ++k) {
      level.blocks.push_back(
          AddBlock(fmt::format("{}_{}", name, k), k == 0 ? in : out, out));
    }
    return level;
  }

  void AddMiddle(std::int64_t width) {
    middle_in_ = AddBlock("mid0", width, width);
    attention_ =
        register_module("attention", std::make_shared<LatentAttention>(width));
    middle_out_ = AddBlock("mid1", width, width);
  }

  at::Tensor RunMiddle(const at::Tensor& x) {
    at::Tensor y = middle_in_->forward(x);
    y = attention_->forward(y);
    return middle_out_->forward(y);
  }

  void AddEnd(std::int64_t in, std::int64_t out) {
    norm_out_ = register_module("conv_norm_out", GroupsNorm(in, kVaeEpsilon));
    conv_out_ = AddConv("conv_out", {.in = in, .out = out, .kernel = 3});
  }

  at::Tensor RunEnd(const at::Tensor& x) {
    at::Tensor y = norm_out_->forward(x);
    y = at::silu(y);
    return conv_out_->forward(y);
  }

 private:
  std::shared_ptr<DiffusionResidualBlock> middle_in_;
  std::shared_ptr<LatentAttention> attention_;
  std::shared_ptr<DiffusionResidualBlock> middle_out_;
  torch::nn::GroupNorm norm_out_ = nullptr;
  torch::nn::Conv2d conv_out_ = nullptr;
};

class VaeDecoder final : public VaeHalf {
 public:
  explicit VaeDecoder(const VaeDecoderConfig& config) {
    const std::int64_t deepest = config.widths.back();
    if (config.quant_conv) {
      post_quant_ = AddConv("post_quant_conv",
                            {.in = config.channels, .out = config.channels});
    }
    conv_in_ = AddConv("conv_in",
                       {.in = config.channels, .out = deepest, .kernel = 3});
    AddMiddle(deepest);
    AddLevels(config);
    AddEnd(config.widths.front(), kColours);
  }

  /// x: [batch, channels, edge, edge]; returns [batch, 3, 8 × edge, 8 × edge].
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = post_quant_ ? post_quant_->forward(x) : x;
    y = conv_in_->forward(y);
    y = RunMiddle(y);
    for (VaeLevel& level : levels_) {
      y = level.RunBlocks(y);
      if (!level.resize) continue;
      y = TwiceTheEdges(y);
      y = level.resize->forward(y);
    }
    return RunEnd(y);
  }

 private:
  void AddLevels(const VaeDecoderConfig& config) {
    std::int64_t in = config.widths.back();
    for (std::size_t i = config.widths.size(); i-- > 0;) {
      const std::int64_t out = config.widths[i];
      const std::string name = fmt::format("up{}", i);
      VaeLevel level = MakeLevel(name, config.layers + 1, in, out);
      if (i > 0) {
        level.resize = AddConv(name, {.in = out, .out = out, .kernel = 3});
      }
      levels_.push_back(std::move(level));
      in = out;
    }
  }

  torch::nn::Conv2d post_quant_ = nullptr;  ///< Null without quant_conv.
  torch::nn::Conv2d conv_in_ = nullptr;
  std::vector<VaeLevel> levels_;
};

/// Mean and logarithm of the variance of a latent image, then a sample.
class VaeEncoder final : public VaeHalf {
 public:
  explicit VaeEncoder(const VaeEncoderConfig& config) {
    const std::int64_t moments = 2 * config.channels;
    conv_in_ = AddConv(
        "conv_in", {.in = kColours, .out = config.widths.front(), .kernel = 3});
    AddLevels(config);
    AddMiddle(config.widths.back());
    AddEnd(config.widths.back(), moments);
    if (config.quant_conv) {
      quant_ = AddConv("quant_conv", {.in = moments, .out = moments});
    }
  }

  /// x: [batch, 3, edge, edge]; returns [batch, channels, edge / 8, edge / 8].
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = conv_in_->forward(x);
    for (VaeLevel& level : levels_) {
      y = level.RunBlocks(y);
      if (!level.resize) continue;
      y = at::constant_pad_nd(y, {0, 1, 0, 1}, 0);
      y = level.resize->forward(y);
    }
    y = RunMiddle(y);
    y = RunEnd(y);
    if (quant_) y = quant_->forward(y);
    return Sample(y);
  }

 private:
  void AddLevels(const VaeEncoderConfig& config) {
    std::int64_t in = config.widths.front();
    for (std::size_t i = 0; i < config.widths.size(); ++i) {
      const std::int64_t out = config.widths[i];
      const std::string name = fmt::format("down{}", i);
      VaeLevel level = MakeLevel(name, config.layers, in, out);
      if (i + 1 < config.widths.size()) {
        level.resize = AddConv(
            name,
            {.in = out, .out = out, .kernel = 3, .stride = 2, .padding = 0});
      }
      levels_.push_back(std::move(level));
      in = out;
    }
  }

  /// A latent image of the distribution with these moments.
  static at::Tensor Sample(const at::Tensor& moments) {
    const std::vector<at::Tensor> halves = at::chunk(moments, 2, 1);
    const at::Tensor log_variance = at::clamp(halves[1], -30, 20);
    const at::Tensor deviation = at::exp(log_variance * 0.5);
    const at::Tensor noise = at::randn_like(halves[0]);
    return halves[0] + deviation * noise;
  }

  torch::nn::Conv2d conv_in_ = nullptr;
  std::vector<VaeLevel> levels_;
  torch::nn::Conv2d quant_ = nullptr;  ///< Null without quant_conv.
};

/// `image_size`: edge of a picture.
void RequireLevelsOf(const VaeConfig& config, std::int64_t image_size) {
  Require(config.layers > 0, "layers must be positive");
  Require(config.channels > 0, "channels must be positive");
  RequireLevels(config.widths, image_size);
}

std::shared_ptr<Network> VaeDecoderConfig::Make() const {
  Require(!widths.empty(), "widths must be positive");
  RequireLevelsOf(*this, image_size * (std::int64_t{1} << (widths.size() - 1)));
  return std::make_shared<VaeDecoder>(*this);
}

std::shared_ptr<Network> VaeEncoderConfig::Make() const {
  RequireLevelsOf(*this, image_size);
  return std::make_shared<VaeEncoder>(*this);
}

constexpr std::array<Variant, 1> kVaeDecoderVariants = {
    {{"sd_vae_decoder", ""}}};
constexpr std::array<Variant, 1> kVaeEncoderVariants = {
    {{"sd_vae_encoder", ""}}};

}  // namespace

const Family kVaeDecoder = {"vae_decoder", kVaeDecoderVariants,
                            &Configure<VaeDecoderConfig>};
const Family kVaeEncoder = {"vae_encoder", kVaeEncoderVariants,
                            &Configure<VaeEncoderConfig>};

}  // namespace foretell::zoo
