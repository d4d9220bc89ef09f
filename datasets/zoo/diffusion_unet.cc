// The U-Net of Stable Diffusion 1.5 (Rombach et al. 2022) as diffusers'
// UNet2DConditionModel: one step of denoising a batch of latent images. With
// guidance a pipeline runs it on twice the batch of pictures.

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"

namespace foretell::zoo {
namespace {

constexpr double kUnetOutEpsilon = 1e-5;
constexpr double kLongestPeriod = 10000;

struct DiffusionUNetConfig {
  /// Channels per level; all but the last attend and halve the edge.
  std::vector<std::int64_t> widths = {320, 640, 1280, 1280};
  std::int64_t layers = 2;  ///< Residual blocks per level on the way down.
  std::int64_t heads = 8;
  std::int64_t channels = 4;     ///< Of a latent image.
  std::int64_t image_size = 64;  ///< Edge of a latent image: an eighth.
  std::int64_t text_width = 768;
  std::int64_t seq = 77;  ///< Tokens of the text.

  template <typename Visitor>
  void Visit(Visitor&& visit) {
    visit("widths", widths);
    visit("layers", layers);
    visit("heads", heads);
    visit("channels", channels);
    visit("image_size", image_size);
    visit("text_width", text_width);
    visit("seq", seq);
  }

  std::int64_t TimeWidth() const { return 4 * widths.front(); }

  std::vector<InputSpec> Inputs() const {
    return {
        BatchedInput("latent", DType::kF32, {channels, image_size, image_size}),
        BatchedInput("time", DType::kI64, {}),
        BatchedInput("text", DType::kF32, {seq, text_width})};
  }
  std::shared_ptr<Network> Make() const;
};

/// What all blocks of a pass read.
struct Conditions {
  at::Tensor time;  ///< [batch, 4 × first width].
  at::Tensor text;  ///< [batch, tokens, text width].
};

/// A residual block, and attention where the level has it.
class UNetUnit final : public torch::nn::Module {
 public:
  UNetUnit(const DiffusionUNetConfig& config, std::int64_t in, std::int64_t out,
           bool attends) {
    residual_ = register_module("resnet", std::make_shared<TimedResidualBlock>(
                                              in, out, config.TimeWidth()));
    if (!attends) return;
    attention_ =
        register_module("attention", std::make_shared<SpatialTransformer>(
                                         out, config.text_width, config.heads));
  }

  at::Tensor forward(const at::Tensor& x, const Conditions& conditions) {
    const at::Tensor y = residual_->forward(x, conditions.time);
    return attention_ ? attention_->forward(y, conditions.text) : y;
  }

 private:
  std::shared_ptr<TimedResidualBlock> residual_;
  std::shared_ptr<SpatialTransformer> attention_;
};

/// One level: its units, and the convolution that changes the edge after them.
struct UNetLevel {
  std::vector<std::shared_ptr<UNetUnit>> units;
  torch::nn::Conv2d resize = nullptr;  ///< Empty: the edge stays.
};

/// [batch, width]: sines and cosines of the step's number.
at::Tensor StepFeatures(const at::Tensor& step, std::int64_t width) {
  const std::int64_t half = width / 2;
  at::Tensor rates = at::arange(half, step.options().dtype(at::kFloat));
  rates = rates * (-std::log(kLongestPeriod) / static_cast<double>(half));
  rates = at::exp(rates);
  const at::Tensor angles =
      step.unsqueeze(1).to(at::kFloat) * rates.unsqueeze(0);
  return at::cat({at::cos(angles), at::sin(angles)}, -1);
}

class DiffusionUNet final : public Network {
 public:
  explicit DiffusionUNet(const DiffusionUNetConfig& config) : config_(config) {
    const std::int64_t first = config.widths.front();
    conv_in_ = register_module(
        "conv_in",
        Conv({.in = config.channels, .out = first, .kernel = 3}, true));
    time1_ = register_module("time1", Dense(first, config.TimeWidth()));
    time2_ =
        register_module("time2", Dense(config.TimeWidth(), config.TimeWidth()));
    AddWayDown();
    const std::int64_t last = config.widths.back();
    middle_.push_back(AddUnit("mid0", last, last, /*attends=*/true));
    middle_.push_back(AddUnit("mid1", last, last, /*attends=*/false));
    AddWayUp();
    norm_out_ = register_module("norm_out", GroupsNorm(first, kUnetOutEpsilon));
    conv_out_ = register_module(
        "conv_out",
        Conv({.in = first, .out = config.channels, .kernel = 3}, true));
  }

  /// A latent image [batch, channels, edge, edge], the step's number i64[batch]
  /// and a text [batch, tokens, text width]; returns the first's shape.
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    const Conditions conditions = {Time(inputs.at(1), inputs.at(0)),
                                   inputs.at(2)};
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
                                    std::int64_t out, bool attends) {
    return register_module(
        name, std::make_shared<UNetUnit>(config_, in, out, attends));
  }

  torch::nn::Conv2d AddResize(const std::string& name, std::int64_t width,
                              std::int64_t stride) {
    return register_module(
        name, Conv({.in = width, .out = width, .kernel = 3, .stride = stride},
                   /*bias=*/true));
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
            AddUnit(fmt::format("down{}_{}", i, k), in, out, !is_last));
        widths_kept_.push_back(in = out);
      }
      if (!is_last) {
        level.resize = AddResize(fmt::format("down{}", i), out, /*stride=*/2);
        widths_kept_.push_back(out);
      }
      down_.push_back(std::move(level));
    }
  }

  /// Each unit reads what one of the way down has kept.
  void AddWayUp() {
    std::int64_t in = config_.widths.back();
    for (std::size_t i = config_.widths.size(); i-- > 0;) {
      const std::int64_t out = config_.widths[i];
      const bool attends = i + 1 < config_.widths.size();
      UNetLevel level;
      for (std::int64_t k = 0; k <= config_.layers; ++k) {
        level.units.push_back(AddUnit(fmt::format("up{}_{}", i, k),
                                      in + widths_kept_.back(), out, attends));
        widths_kept_.pop_back();
        in = out;
      }
      if (i > 0) {
        level.resize = AddResize(fmt::format("up{}", i), out, /*stride=*/1);
      }
      up_.push_back(std::move(level));
    }
  }

  at::Tensor Time(const at::Tensor& step, const at::Tensor& latent) {
    at::Tensor y = StepFeatures(step, config_.widths.front());
    y = y.to(latent.scalar_type());
    y = time1_->forward(y);
    y = at::silu(y);
    return time2_->forward(y);
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
    y = at::upsample_nearest2d(y, {y.size(2) * 2, y.size(3) * 2});
    return level.resize->forward(y);
  }

  DiffusionUNetConfig config_;
  std::vector<std::int64_t> widths_kept_;  ///< While it is being built.
  torch::nn::Conv2d conv_in_ = nullptr;
  Dense time1_ = nullptr;
  Dense time2_ = nullptr;
  std::vector<UNetLevel> down_;
  std::vector<std::shared_ptr<UNetUnit>> middle_;
  std::vector<UNetLevel> up_;
  torch::nn::GroupNorm norm_out_ = nullptr;
  torch::nn::Conv2d conv_out_ = nullptr;
};

std::shared_ptr<Network> DiffusionUNetConfig::Make() const {
  Require(!widths.empty() && layers > 0, "widths and layers must be positive");
  for (const std::int64_t width : widths) {
    Require(width > 0 && width % 32 == 0,
            fmt::format("widths: {} is no multiple of 32", width));
  }
  RequireMultiple(image_size, std::int64_t{1} << (widths.size() - 1));
  return std::make_shared<DiffusionUNet>(*this);
}

constexpr std::array<Variant, 1> kDiffusionUNetVariants = {{{"sd15_unet", ""}}};

}  // namespace

const Family kDiffusionUNet = {"diffusion_unet", kDiffusionUNetVariants,
                               &Configure<DiffusionUNetConfig>};

}  // namespace foretell::zoo
