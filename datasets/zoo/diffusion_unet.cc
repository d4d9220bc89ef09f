// The U-Nets of Stable Diffusion (Rombach et al. 2022; XL: Podell et al. 2023)
// as diffusers' UNet2DConditionModel: one step of denoising a batch of latent
// images. With guidance a pipeline runs it on twice the batch of pictures.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/spatial_transformer.h"

namespace foretell::zoo {
namespace {

constexpr double kUnetOutEpsilon = 1e-5;
/// Height and width of the original picture, of its crop and of the target.
constexpr std::int64_t kPictureSizes = 6;
constexpr std::int64_t kSizeFeatures = 256;

struct DiffusionUNetConfig {
  /// Channels per level; all except the last halve the edge.
  std::vector<std::int64_t> widths = {320, 640, 1280, 1280};
  std::int64_t layers = 2;  ///< Residual blocks per level on the way down.
  /// Blocks of each transformer, by level; the middle has the most of them.
  /// Empty: one in all levels except the last.
  std::vector<std::int64_t> transformers;
  std::int64_t heads = 8;
  std::int64_t head_width = 0;  ///< Instead of `heads`, unless it is 0.
  /// Whether a transformer begins and ends with dense layers over tokens.
  bool linear_projection = false;
  std::int64_t channels = 4;     ///< Of a latent image.
  std::int64_t image_size = 64;  ///< Edge of a latent image: an eighth.
  std::int64_t text_width = 768;
  std::int64_t seq = 77;  ///< Tokens of the text.
  /// Width of the whole text's embedding, an input together with the picture's
  /// sizes; 0: neither is an input.
  std::int64_t pooled_width = 0;

  FORETELL_FIELDS(widths, layers, transformers, heads, head_width,
                  linear_projection, channels, image_size, text_width, seq,
                  pooled_width)

  std::int64_t TimeWidth() const { return 4 * widths.front(); }

  /// Blocks of the transformers of a level, 0 for none.
  std::int64_t Depth(std::size_t level) const {
    if (!transformers.empty()) return transformers[level];
    return level + 1 < widths.size() ? 1 : 0;
  }
  std::int64_t MiddleDepth() const {
    return transformers.empty() ? 1 : std::ranges::max(transformers);
  }
  SpatialTransformerShape TransformerShape(std::int64_t width,
                                           std::int64_t depth) const {
    return {.width = width,
            .context = text_width,
            .heads = head_width > 0 ? width / head_width : heads,
            .depth = depth,
            .is_linear = linear_projection};
  }

  std::vector<InputSpec> Inputs() const {
    std::vector<InputSpec> inputs = {
        BatchedInput("latent", DType::kF32, {channels, image_size, image_size}),
        BatchedInput("time", DType::kI64, {}),
        BatchedInput("text", DType::kF32, {seq, text_width})};
    if (pooled_width == 0) return inputs;
    inputs.push_back(BatchedInput("pooled", DType::kF32, {pooled_width}));
    inputs.push_back(BatchedInput("sizes", DType::kF32, {kPictureSizes}));
    return inputs;
  }
  std::shared_ptr<Network> Make() const;
};

/// What all blocks of a pass read.
struct Conditions {
  at::Tensor time;  ///< [batch, 4 × first width].
  at::Tensor text;  ///< [batch, tokens, text width].
};

/// A residual block, and a transformer of `depth` blocks where the level has
/// one.
class UNetUnit final : public torch::nn::Module {
 public:
  UNetUnit(const DiffusionUNetConfig& config, std::int64_t in, std::int64_t out,
           std::int64_t depth) {
    // Numbered, as transformer_blocks are: diffusers checkpoints each of both.
    const auto list =
        register_module("resnets", std::make_shared<torch::nn::Module>());
    residual_ = list->register_module(
        "0",
        std::make_shared<DiffusionResidualBlock>(in, out, config.TimeWidth()));
    if (depth == 0) return;
    attention_ =
        register_module("attention", std::make_shared<SpatialTransformer>(
                                         config.TransformerShape(out, depth)));
  }

  at::Tensor forward(const at::Tensor& x, const Conditions& conditions) {
    const ModuleScope scope(*this);
    const at::Tensor y = residual_->forward(x, conditions.time);
    return attention_ ? attention_->forward(y, conditions.text) : y;
  }

 private:
  std::shared_ptr<DiffusionResidualBlock> residual_;
  std::shared_ptr<SpatialTransformer> attention_;
};

/// One level: its units, and the convolution that changes the edge after them.
struct UNetLevel {
  std::vector<std::shared_ptr<UNetUnit>> units;
  torch::nn::Conv2d resize = nullptr;  ///< Empty: the edge stays.
};

class DiffusionUNet final : public Network {
 public:
  explicit DiffusionUNet(const DiffusionUNetConfig& config) : config_(config) {
    const std::int64_t first = config.widths.front();
    conv_in_ = register_module(
        "conv_in",
        Conv({.in = config.channels, .out = first, .kernel = 3}, true));
    AddEmbeddings();
    AddWayDown();
    const std::int64_t last = config.widths.back();
    middle_.push_back(AddUnit("mid0", last, last, config.MiddleDepth()));
    middle_.push_back(AddUnit("mid1", last, last, /*depth=*/0));
    AddWayUp();
    norm_out_ = register_module("norm_out", GroupsNorm(first, kUnetOutEpsilon));
    conv_out_ = register_module(
        "conv_out",
        Conv({.in = first, .out = config.channels, .kernel = 3}, true));
  }

  /// A latent image [batch, channels, edge, edge], the step's number i64[batch]
  /// and a text [batch, tokens, text width], with pooled_width the whole text
  /// [batch, pooled width] and sizes [batch, 6]; returns the first's shape.
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    const Conditions conditions = {Time(inputs), inputs.at(2)};
    at::Tensor y = conv_in_->forward(inputs.at(0));
    std::vector<at::Tensor> kept = {y};
    for (UNetLevel& level : down_) y = Down(level, y, conditions, kept);
    for (const auto& unit : middle_) y = unit->forward(y, conditions);
    for (UNetLevel& level : up_) y = Up(level, y, conditions, kept);
    y = norm_out_->forward(y);
    y = at::silu(y);
    return {conv_out_->forward(y)};
  }

 private:
  std::shared_ptr<UNetUnit> AddUnit(const std::string& name, std::int64_t in,
                                    std::int64_t out, std::int64_t depth) {
    return register_module(name,
                           std::make_shared<UNetUnit>(config_, in, out, depth));
  }

  torch::nn::Conv2d AddResize(const std::string& name, std::int64_t width,
                              std::int64_t stride) {
    return register_module(
        name, Conv({.in = width, .out = width, .kernel = 3, .stride = stride},
                   /*bias=*/true));
  }

  void AddEmbeddings() {
    const std::int64_t width = config_.TimeWidth();
    time_ = register_module("time", std::make_shared<ConditionEmbedding>(
                                        config_.widths.front(), width));
    if (config_.pooled_width == 0) return;
    pooled_ = register_module(
        "pooled",
        std::make_shared<ConditionEmbedding>(
            config_.pooled_width + kPictureSizes * kSizeFeatures, width));
  }

  void AddWayDown() {
    std::int64_t in = config_.widths.front();
    widths_kept_ = {in};
    for (std::size_t i = 0; i < config_.widths.size(); ++i) {
      const std::int64_t out = config_.widths[i];
      const bool is_last = i + 1 == config_.widths.size();
      UNetLevel level;
      for (std::int64_t k = 0; k < config_.layers; ++k) {
        level.units.push_back(
            AddUnit(fmt::format("down{}_{}", i, k), in, out, config_.Depth(i)));
        widths_kept_.push_back(in = out);
      }
      if (!is_last) {
        level.resize = AddResize(fmt::format("down{}", i), out, /*stride=*/2);
        widths_kept_.push_back(out);
      }
      down_.push_back(std::move(level));
    }
  }

  /// Each unit also reads what a unit on the way down has kept.
  void AddWayUp() {
    std::int64_t in = config_.widths.back();
    for (std::size_t i = config_.widths.size(); i-- > 0;) {
      const std::int64_t out = config_.widths[i];
      UNetLevel level;
      for (std::int64_t k = 0; k <= config_.layers; ++k) {
        level.units.push_back(AddUnit(fmt::format("up{}_{}", i, k),
                                      in + widths_kept_.back(), out,
                                      config_.Depth(i)));
        widths_kept_.pop_back();
        in = out;
      }
      if (i > 0) {
        level.resize = AddResize(fmt::format("up{}", i), out, /*stride=*/1);
      }
      up_.push_back(std::move(level));
    }
  }

  at::Tensor Time(const std::vector<at::Tensor>& inputs) {
    const at::ScalarType dtype = inputs.at(0).scalar_type();
    at::Tensor y = NumberFeatures(inputs.at(1), config_.widths.front());
    y = y.to(dtype);
    y = time_->forward(y);
    if (!pooled_) return y;
    const at::Tensor& pooled = inputs.at(3);
    at::Tensor sizes = NumberFeatures(inputs.at(4).flatten(), kSizeFeatures);
    sizes = sizes.reshape({pooled.size(0), -1});
    at::Tensor more = at::cat({pooled, sizes}, -1);
    more = more.to(dtype);
    return y + pooled_->forward(more);
  }

  static at::Tensor Down(UNetLevel& level, const at::Tensor& x,
                         const Conditions& conditions,
                         std::vector<at::Tensor>& kept) {
    at::Tensor y = x;
    for (const auto& unit : level.units) {
      y = unit->forward(y, conditions);
      kept.push_back(y);
    }
    if (!level.resize) return y;
    kept.push_back(level.resize->forward(y));
    return kept.back();
  }

  static at::Tensor Up(UNetLevel& level, const at::Tensor& x,
                       const Conditions& conditions,
                       std::vector<at::Tensor>& kept) {
    at::Tensor y = x;
    for (const auto& unit : level.units) {
      const at::Tensor skip = kept.back();
      kept.pop_back();
      y = at::cat({y, skip}, 1);
      y = unit->forward(y, conditions);
    }
    if (!level.resize) return y;
    y = TwiceTheEdges(y);
    return level.resize->forward(y);
  }

  DiffusionUNetConfig config_;
  std::vector<std::int64_t> widths_kept_;  ///< While it is being built.
  torch::nn::Conv2d conv_in_ = nullptr;
  std::shared_ptr<ConditionEmbedding> time_;
  std::shared_ptr<ConditionEmbedding> pooled_;
  std::vector<UNetLevel> down_;
  std::vector<std::shared_ptr<UNetUnit>> middle_;
  std::vector<UNetLevel> up_;
  torch::nn::GroupNorm norm_out_ = nullptr;
  torch::nn::Conv2d conv_out_ = nullptr;
};

std::shared_ptr<Network> DiffusionUNetConfig::Make() const {
  Require(layers > 0, "layers must be positive");
  RequireLevels(widths, image_size);
  Require(transformers.empty() || transformers.size() == widths.size(),
          fmt::format("transformers: {} levels, widths: {}",
                      transformers.size(), widths.size()));
  return std::make_shared<DiffusionUNet>(*this);
}

constexpr std::array<Variant, 3> kDiffusionUNetVariants = {{
    {"sd15_unet", ""},
    {"sd21_unet",
     "head_width=64&linear_projection=true&image_size=96&text_width=1024"},
    {"sdxl_unet",
     "widths=320,640,1280&transformers=0,2,10&head_width=64"
     "&linear_projection=true&image_size=128&text_width=2048"
     "&pooled_width=1280"},
}};

}  // namespace

const Family kDiffusionUNet = {"diffusion_unet", kDiffusionUNetVariants,
                               &Configure<DiffusionUNetConfig>};

}  // namespace foretell::zoo
