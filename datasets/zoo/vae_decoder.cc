// The decoder of Stable Diffusion's autoencoder (Rombach et al. 2022) as
// diffusers' AutoencoderKL.decode: latent images become pictures of eight times
// their edge.

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

struct VaeDecoderConfig {
  /// Channels per level of the edge, from the picture down.
  std::vector<std::int64_t> widths = {128, 256, 512, 512};
  std::int64_t layers = 2;       ///< A level has one residual block more.
  std::int64_t channels = 4;     ///< Of a latent image.
  std::int64_t image_size = 64;  ///< Edge of a latent image: an eighth.

  FORETELL_FIELDS(widths, layers, channels, image_size)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("latent", DType::kF32,
                         {channels, image_size, image_size})};
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

/// Residual blocks of one edge, then the convolution at twice the edge.
struct VaeLevel {
  std::vector<std::shared_ptr<DiffusionResidualBlock>> blocks;
  torch::nn::Conv2d resize = nullptr;  ///< Empty: the edge stays.
};

class VaeDecoder final : public UnaryNetwork {
 public:
  explicit VaeDecoder(const VaeDecoderConfig& config) {
    const std::int64_t deepest = config.widths.back();
    const std::int64_t first = config.widths.front();
    post_quant_ = AddConv("post_quant_conv",
                          {.in = config.channels, .out = config.channels});
    conv_in_ = AddConv("conv_in",
                       {.in = config.channels, .out = deepest, .kernel = 3});
    middle_in_ = AddBlock("mid0", deepest, deepest);
    attention_ = register_module("attention",
                                 std::make_shared<LatentAttention>(deepest));
    middle_out_ = AddBlock("mid1", deepest, deepest);
    AddLevels(config);
    norm_out_ =
        register_module("conv_norm_out", GroupsNorm(first, kVaeEpsilon));
    conv_out_ =
        AddConv("conv_out", {.in = first, .out = kColours, .kernel = 3});
  }

  /// x: [batch, channels, edge, edge]; returns [batch, 3, 8 × edge, 8 × edge].
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = post_quant_->forward(x);
    y = conv_in_->forward(y);
    y = middle_in_->forward(y);
    y = attention_->forward(y);
    y = middle_out_->forward(y);
    for (VaeLevel& level : levels_) y = Up(level, y);
    y = norm_out_->forward(y);
    y = at::silu(y);
    return conv_out_->forward(y);
  }

 private:
  torch::nn::Conv2d AddConv(const std::string& name, const ConvShape& shape) {
    return register_module(name, Conv(shape, /*bias=*/true));
  }

  std::shared_ptr<DiffusionResidualBlock> AddBlock(const std::string& name,
                                                   std::int64_t in,
                                                   std::int64_t out) {
    return register_module(
        name, std::make_shared<DiffusionResidualBlock>(in, out, /*time=*/0));
  }

  void AddLevels(const VaeDecoderConfig& config) {
    std::int64_t in = config.widths.back();
    for (std::size_t i = config.widths.size(); i-- > 0;) {
      const std::int64_t out = config.widths[i];
      VaeLevel level;
      for (std::int64_t k = 0; k <= config.layers; ++k) {
        level.blocks.push_back(AddBlock(fmt::format("up{}_{}", i, k), in, out));
        in = out;
      }
      if (i > 0) {
        level.resize = AddConv(fmt::format("up{}", i),
                               {.in = out, .out = out, .kernel = 3});
      }
      levels_.push_back(std::move(level));
    }
  }

  static at::Tensor Up(VaeLevel& level, const at::Tensor& x) {
    at::Tensor y = x;
    for (const auto& block : level.blocks) y = block->forward(y);
    if (!level.resize) return y;
    y = TwiceTheEdges(y);
    return level.resize->forward(y);
  }

  torch::nn::Conv2d post_quant_ = nullptr;
  torch::nn::Conv2d conv_in_ = nullptr;
  std::shared_ptr<DiffusionResidualBlock> middle_in_;
  std::shared_ptr<LatentAttention> attention_;
  std::shared_ptr<DiffusionResidualBlock> middle_out_;
  std::vector<VaeLevel> levels_;
  torch::nn::GroupNorm norm_out_ = nullptr;
  torch::nn::Conv2d conv_out_ = nullptr;
};

std::shared_ptr<Network> VaeDecoderConfig::Make() const {
  Require(layers > 0, "layers must be positive");
  RequireLevels(widths, image_size * (std::int64_t{1} << (widths.size() - 1)));
  return std::make_shared<VaeDecoder>(*this);
}

constexpr std::array<Variant, 1> kVaeDecoderVariants = {
    {{"sd_vae_decoder", ""}}};

}  // namespace

const Family kVaeDecoder = {"vae_decoder", kVaeDecoderVariants,
                            &Configure<VaeDecoderConfig>};

}  // namespace foretell::zoo
