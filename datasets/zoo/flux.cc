// The diffusion transformer of FLUX.1 (Black Forest Labs 2024) as diffusers'
// FluxTransformer2DModel at 004f1e8c: one step of denoising a batch of latent
// images. Weights of blocks have diffusers' names, which adapters choose by.
//
// Positions are counted along one axis instead of three: the tables have the
// same sizes.

#include <array>

#include "datasets/zoo/block_list.h"
#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/joint_blocks.h"

namespace foretell::zoo {
namespace {

constexpr double kFluxRotaryBase = 10000;
constexpr std::int64_t kFluxTimeFeatures = 256;

struct FluxConfig {
  std::int64_t depth = 19;         ///< Blocks with weights for either stream.
  std::int64_t single_depth = 38;  ///< Blocks over both streams at once.
  std::int64_t heads = 24;
  std::int64_t head_width = 128;
  std::int64_t channels = 64;    ///< Of a patch of the latent image.
  std::int64_t image_size = 64;  ///< Edge in patches: pixels / 16.
  std::int64_t text_width = 4096;
  std::int64_t seq = 512;           ///< Tokens of the text.
  std::int64_t pooled_width = 768;  ///< Of the whole text's embedding.
  bool guidance = true;             ///< Its strength is an input (FLUX.1-dev).

  FORETELL_FIELDS(depth, single_depth, heads, head_width, channels, image_size,
                  text_width, seq, pooled_width, guidance)

  JointShape Shape() const {
    return {.heads = heads,
            .head_width = head_width,
            .head_norm = NormKind::kFused};
  }

  std::vector<InputSpec> Inputs() const {
    std::vector<InputSpec> inputs = {
        BatchedInput("latent", DType::kF32,
                     {image_size * image_size, channels}),
        BatchedInput("text", DType::kF32, {seq, text_width}),
        BatchedInput("pooled", DType::kF32, {pooled_width}),
        BatchedInput("time", DType::kF32, {})};
    if (guidance) inputs.push_back(BatchedInput("guidance", DType::kF32, {}));
    return inputs;
  }
  std::shared_ptr<Network> Make() const;
};

class Flux final : public Network {
 public:
  explicit Flux(const FluxConfig& config) : config_(config) {
    const std::int64_t width = config.Shape().Width();
    time_ = AddEmbedding("timestep_embedder", kFluxTimeFeatures);
    if (config.guidance) {
      guidance_ = AddEmbedding("guidance_embedder", kFluxTimeFeatures);
    }
    pooled_ = AddEmbedding("text_embedder", config.pooled_width);
    text_ =
        register_module("context_embedder", Dense(config.text_width, width));
    image_ = register_module("x_embedder", Dense(config.channels, width));
    const JointShape shape = config.Shape();
    blocks_ = AddBlockList(
        *this, "transformer_blocks", config.depth,
        [&](std::int64_t) { return std::make_shared<JointBlock>(shape); });
    singles_ = AddBlockList(
        *this, "single_transformer_blocks", config.single_depth,
        [&](std::int64_t) { return std::make_shared<FluxSingleBlock>(shape); });
    norm_out_ =
        register_module("norm_out", std::make_shared<AdaptiveNorm>(width, 2));
    proj_out_ = register_module("proj_out", Dense(width, config.channels));
  }

  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    at::Tensor image = image_->forward(inputs.at(0));
    at::Tensor text = text_->forward(inputs.at(1));
    const at::Tensor condition = Condition(inputs);
    const RotaryTables tables =
        PairedTables(image.size(1) + text.size(1), config_.head_width,
                     kFluxRotaryBase, image);
    for (const auto& block : blocks_) {
      auto both = block->forward(image, text, condition, tables);
      image = both[0];
      text = both[1];
    }
    const std::int64_t words = text.size(1);
    image = at::cat({text, image}, 1);
    for (const auto& block : singles_) {
      image = block->forward(image, condition, tables);
    }
    image = image.slice(1, words);
    image = norm_out_->forward(image, condition).front();
    return {proj_out_->forward(image)};
  }

 private:
  std::shared_ptr<ConditionEmbedding> AddEmbedding(const std::string& name,
                                                   std::int64_t in) {
    return register_module(name, std::make_shared<ConditionEmbedding>(
                                     in, config_.Shape().Width()));
  }

  at::Tensor Condition(const std::vector<at::Tensor>& inputs) {
    const at::ScalarType dtype = inputs.at(0).scalar_type();
    at::Tensor y = time_->forward(
        NumberFeatures(inputs.at(3), kFluxTimeFeatures).to(dtype));
    if (guidance_) {
      y = y + guidance_->forward(
                  NumberFeatures(inputs.at(4), kFluxTimeFeatures).to(dtype));
    }
    return y + pooled_->forward(inputs.at(2));
  }

  FluxConfig config_;
  std::shared_ptr<ConditionEmbedding> time_;
  std::shared_ptr<ConditionEmbedding> guidance_;
  std::shared_ptr<ConditionEmbedding> pooled_;
  Dense text_ = nullptr;
  Dense image_ = nullptr;
  std::vector<std::shared_ptr<JointBlock>> blocks_;
  std::vector<std::shared_ptr<FluxSingleBlock>> singles_;
  std::shared_ptr<AdaptiveNorm> norm_out_;
  Dense proj_out_ = nullptr;
};

std::shared_ptr<Network> FluxConfig::Make() const {
  RequireEvenHeads(heads, head_width);
  return std::make_shared<Flux>(*this);
}

constexpr std::array<Variant, 2> kFluxVariants = {{
    {"flux1_dev", ""},
    {"flux1_schnell", "guidance=false&seq=256"},
}};

}  // namespace

const Family kFlux = {"flux", kFluxVariants, &Configure<FluxConfig>};

}  // namespace foretell::zoo
