// The encoder of Whisper (Radford et al. 2022) as transformers'
// WhisperEncoder: two convolutions over a spectrogram of 30 seconds, then a
// transformer over half as many positions.

#include <fmt/core.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>

#include <array>

#include "datasets/zoo/encoder_block.h"
#include "datasets/zoo/families.h"

namespace foretell::zoo {
namespace {

constexpr double kWhisperEpsilon = 1e-5;

struct WhisperConfig {
  std::int64_t width = 768;
  std::int64_t depth = 12;
  std::int64_t heads = 12;
  std::int64_t bands = 80;     ///< Of the mel spectrogram.
  std::int64_t frames = 3000;  ///< Even; 100 a second.

  FORETELL_FIELDS(width, depth, heads, bands, frames)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("spectrogram", DType::kF32, {bands, frames})};
  }
  std::shared_ptr<Network> Make() const;
};

class WhisperEncoder final : public UnaryNetwork {
 public:
  explicit WhisperEncoder(const WhisperConfig& config) {
    using torch::nn::Conv1dOptions;
    const std::int64_t width = config.width;
    conv1_ = register_module(
        "conv1",
        torch::nn::Conv1d(Conv1dOptions(config.bands, width, 3).padding(1)));
    conv2_ = register_module(
        "conv2",
        torch::nn::Conv1d(Conv1dOptions(width, width, 3).stride(2).padding(1)));
    positions_ = register_module(
        "embed_positions", torch::nn::Embedding(config.frames / 2, width));
    blocks_ = register_module(
        "layers", EncoderBlocks(config.depth, {.width = width,
                                               .heads = config.heads,
                                               .inner = 4 * width,
                                               .key_bias = false,
                                               .is_whisper = true}));
    norm_ = register_module("layer_norm", Norm(width, kWhisperEpsilon));
  }

  /// x: f32[batch, bands, frames]; returns [batch, frames / 2, width].
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = conv1_->forward(x);
    y = at::gelu(y);
    y = conv2_->forward(y);
    y = at::gelu(y);
    y = y.permute({0, 2, 1});
    y = y + positions_->weight;
    y = blocks_->forward(y);
    return norm_->forward(y);
  }

 private:
  torch::nn::Conv1d conv1_ = nullptr;
  torch::nn::Conv1d conv2_ = nullptr;
  torch::nn::Embedding positions_ = nullptr;
  Chain blocks_ = nullptr;
  torch::nn::LayerNorm norm_ = nullptr;
};

std::shared_ptr<Network> WhisperConfig::Make() const {
  RequireHeads(width, heads);
  Require(frames > 0 && frames % 2 == 0,
          fmt::format("frames={}: expected a positive even number", frames));
  return std::make_shared<WhisperEncoder>(*this);
}

constexpr std::array<Variant, 3> kWhisperVariants = {{
    {"whisper_small_encoder", ""},
    {"whisper_large_encoder", "width=1280&depth=32&heads=20"},
    {"whisper_large_v3_encoder", "width=1280&depth=32&heads=20&bands=128"},
}};

}  // namespace

const Family kWhisper = {"whisper", kWhisperVariants,
                         &Configure<WhisperConfig>};

}  // namespace foretell::zoo
