// The diffusion transformer of FLUX.2 (Black Forest Labs 2025) as diffusers'
// Flux2Transformer2DModel at 0.42.1: one step of denoising a batch of latent
// images. It differs from FLUX.1 in that all blocks of a kind share the scales
// and shifts of their norms, feed-forward parts are gated, no product has a
// bias, and a single block has one product before and one after its attention.

#include <array>

#include "datasets/zoo/block_list.h"
#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/joint_blocks.h"

namespace foretell::zoo {
namespace {

constexpr double kFlux2RotaryBase = 2000;
constexpr std::int64_t kFlux2TimeFeatures = 256;

struct Flux2Config {
  std::int64_t depth = 8;          ///< Blocks with weights for either stream.
  std::int64_t single_depth = 48;  ///< Blocks over both streams at once.
  std::int64_t heads = 48;
  std::int64_t head_width = 128;
  std::int64_t inner = 3;        ///< Width of feed-forward parts per width.
  std::int64_t channels = 128;   ///< Of a patch of the latent image.
  std::int64_t image_size = 64;  ///< Edge in patches: pixels / 16.
  std::int64_t text_width = 15360;
  std::int64_t seq = 512;  ///< Tokens of the text.
  bool guidance = true;    ///< Its strength is an input (FLUX.2-dev).

  FORETELL_FIELDS(depth, single_depth, heads, head_width, inner, channels,
                  image_size, text_width, seq, guidance)

  JointShape Shape() const {
    return {.heads = heads,
            .head_width = head_width,
            .head_norm = NormKind::kFused,
            .bias = false};
  }
  std::int64_t InnerWidth() const { return inner * heads * head_width; }

  std::vector<InputSpec> Inputs() const {
    std::vector<InputSpec> inputs = {
        BatchedInput("latent", DType::kF32,
                     {image_size * image_size, channels}),
        BatchedInput("text", DType::kF32, {seq, text_width}),
        BatchedInput("time", DType::kF32, {})};
    if (guidance) inputs.push_back(BatchedInput("guidance", DType::kF32, {}));
    return inputs;
  }
  std::shared_ptr<Network> Make() const;
};

/// Shifts, scales and gates of all blocks of a kind: [batch, parts * width].
struct SharedModulation final : torch::nn::Module {
  SharedModulation(std::int64_t width, std::int64_t parts) {
    linear = register_module("linear", Dense(width, parts * width, false));
  }

  at::Tensor forward(const at::Tensor& condition) {
    const ModuleScope scope(*this);
    return linear->forward(at::silu(condition));
  }

  Dense linear = nullptr;
};

/// A norm without weights, scaled and shifted by the parts from `first` on.
at::Tensor ModulatedNorm(const at::Tensor& x,
                         const std::vector<at::Tensor>& parts,
                         std::size_t first) {
  return AdaptiveNorm::Modulated(AdaptiveNorm::Normed(x), parts[first],
                                 parts[first + 1]);
}

/// SiLU of the first half of the features, times the second half.
at::Tensor GatedHalves(const at::Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor gate = at::silu(x.slice(-1, 0, half));
  return gate * x.slice(-1, half);
}

struct GatedFeedForward final : torch::nn::Module {
  GatedFeedForward(std::int64_t width, std::int64_t inner) {
    linear_in = register_module("linear_in", Dense(width, 2 * inner, false));
    linear_out = register_module("linear_out", Dense(inner, width, false));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = linear_in->forward(x);
    y = GatedHalves(y);
    return linear_out->forward(y);
  }

  Dense linear_in = nullptr;
  Dense linear_out = nullptr;
};

/// A block with weights of its own for the image and for the text.
class Flux2Block final : public torch::nn::Module {
 public:
  explicit Flux2Block(const Flux2Config& config) {
    const JointShape shape = config.Shape();
    attention_ = register_module(
        "attn", std::make_shared<JointAttention>(shape, Streams::kBoth));
    mlp_ = register_module("ff", std::make_shared<GatedFeedForward>(
                                     shape.Width(), config.InnerWidth()));
    text_mlp_ = register_module(
        "ff_context",
        std::make_shared<GatedFeedForward>(shape.Width(), config.InnerWidth()));
  }

  /// `of_image`, `of_text`: results of SharedModulation of six parts.
  std::array<at::Tensor, 2> forward(const at::Tensor& image,
                                    const at::Tensor& text,
                                    const at::Tensor& of_image,
                                    const at::Tensor& of_text,
                                    const RotaryTables& tables) {
    const ModuleScope scope(*this);
    const std::vector<at::Tensor> parts = of_image.chunk(kParts, 1);
    const std::vector<at::Tensor> text_parts = of_text.chunk(kParts, 1);
    const auto attended =
        attention_->Joint(ModulatedNorm(image, parts, 0),
                          ModulatedNorm(text, text_parts, 0), tables);
    return {Widened(*mlp_, AddGated(image, attended[0], parts[2]), parts),
            Widened(*text_mlp_, AddGated(text, attended[1], text_parts[2]),
                    text_parts)};
  }

  static constexpr std::int64_t kParts = 6;

 private:
  /// Adds the feed-forward part.
  static at::Tensor Widened(GatedFeedForward& mlp, const at::Tensor& x,
                            const std::vector<at::Tensor>& parts) {
    return AddGated(x, mlp.forward(ModulatedNorm(x, parts, 3)), parts[5]);
  }

  std::shared_ptr<JointAttention> attention_;
  std::shared_ptr<GatedFeedForward> mlp_;
  std::shared_ptr<GatedFeedForward> text_mlp_;
};

/// Attention and a feed-forward part next to it, between two products.
class ParallelAttention final : public torch::nn::Module {
 public:
  explicit ParallelAttention(const Flux2Config& config)
      : shape_(config.Shape()), inner_(config.InnerWidth()) {
    const std::int64_t width = shape_.Width();
    first_ = register_module("to_qkv_mlp_proj",
                             Dense(width, 3 * width + 2 * inner_, false));
    norm_q_ = AddNorm("norm_q");
    norm_k_ = AddNorm("norm_k");
    last_ = register_module("to_out", Dense(width + inner_, width, false));
  }

  at::Tensor forward(const at::Tensor& x, const RotaryTables& tables) {
    const ModuleScope scope(*this);
    const std::int64_t width = shape_.Width();
    const std::vector<at::Tensor> both =
        at::split(first_->forward(x), {3 * width, 2 * inner_}, -1);
    const at::Tensor attended = Attended(both[0], tables);
    const at::Tensor widened = GatedHalves(both[1]);
    return last_->forward(at::cat({attended, widened}, -1));
  }

 private:
  std::shared_ptr<TokenNorm> AddNorm(const std::string& name) {
    return register_module(name, std::make_shared<TokenNorm>(
                                     *shape_.head_norm, shape_.head_width));
  }

  at::Tensor Attended(const at::Tensor& projected, const RotaryTables& tables) {
    const std::vector<at::Tensor> parts = projected.chunk(3, -1);
    const at::Tensor query =
        norm_q_->forward(SplitHeads(parts[0], shape_.heads));
    const at::Tensor key = norm_k_->forward(SplitHeads(parts[1], shape_.heads));
    return AttendTurned({query, key, SplitHeads(parts[2], shape_.heads)},
                        tables);
  }

  JointShape shape_;
  std::int64_t inner_;
  Dense first_ = nullptr;
  std::shared_ptr<TokenNorm> norm_q_;
  std::shared_ptr<TokenNorm> norm_k_;
  Dense last_ = nullptr;
};

/// A block over text and image at once.
class Flux2SingleBlock final : public torch::nn::Module {
 public:
  explicit Flux2SingleBlock(const Flux2Config& config) {
    attention_ =
        register_module("attn", std::make_shared<ParallelAttention>(config));
  }

  /// `modulation`: the result of SharedModulation of three parts.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& modulation,
                     const RotaryTables& tables) {
    const ModuleScope scope(*this);
    const std::vector<at::Tensor> parts = modulation.chunk(kParts, 1);
    const at::Tensor y =
        attention_->forward(ModulatedNorm(x, parts, 0), tables);
    return AddGated(x, y, parts[2]);
  }

  static constexpr std::int64_t kParts = 3;

 private:
  std::shared_ptr<ParallelAttention> attention_;
};

class Flux2 final : public Network {
 public:
  explicit Flux2(const Flux2Config& config) : config_(config) {
    const std::int64_t width = config.Shape().Width();
    time_ = AddEmbedding("timestep_embedder");
    if (config.guidance) guidance_ = AddEmbedding("guidance_embedder");
    of_image_ =
        AddModulation("double_stream_modulation_img", Flux2Block::kParts);
    of_text_ =
        AddModulation("double_stream_modulation_txt", Flux2Block::kParts);
    of_single_ =
        AddModulation("single_stream_modulation", Flux2SingleBlock::kParts);
    image_ =
        register_module("x_embedder", Dense(config.channels, width, false));
    text_ = register_module("context_embedder",
                            Dense(config.text_width, width, false));
    blocks_ = AddBlockList(
        *this, "transformer_blocks", config.depth,
        [&](std::int64_t) { return std::make_shared<Flux2Block>(config); });
    singles_ = AddBlockList(*this, "single_transformer_blocks",
                            config.single_depth, [&](std::int64_t) {
                              return std::make_shared<Flux2SingleBlock>(config);
                            });
    norm_out_ = register_module(
        "norm_out", std::make_shared<AdaptiveNorm>(width, 2, /*bias=*/false));
    proj_out_ =
        register_module("proj_out", Dense(width, config.channels, false));
  }

  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor condition = Condition(inputs);
    const at::Tensor of_image = of_image_->forward(condition);
    const at::Tensor of_text = of_text_->forward(condition);
    const at::Tensor of_single = of_single_->forward(condition);
    at::Tensor image = image_->forward(inputs.at(0));
    at::Tensor text = text_->forward(inputs.at(1));
    const std::int64_t words = text.size(1);
    const RotaryTables tables = PairedTables(
        image.size(1) + words, config_.head_width, kFlux2RotaryBase, image);
    for (const auto& block : blocks_) {
      auto both = block->forward(image, text, of_image, of_text, tables);
      image = both[0];
      text = both[1];
    }
    image = at::cat({text, image}, 1);
    for (const auto& block : singles_) {
      image = block->forward(image, of_single, tables);
    }
    image = image.slice(1, words);
    image = norm_out_->forward(image, condition).front();
    return {proj_out_->forward(image)};
  }

 private:
  std::shared_ptr<ConditionEmbedding> AddEmbedding(const std::string& name) {
    return register_module(
        name, std::make_shared<ConditionEmbedding>(
                  kFlux2TimeFeatures, config_.Shape().Width(), "silu",
                  /*bias=*/false));
  }
  std::shared_ptr<SharedModulation> AddModulation(const std::string& name,
                                                  std::int64_t parts) {
    return register_module(name, std::make_shared<SharedModulation>(
                                     config_.Shape().Width(), parts));
  }

  at::Tensor Condition(const std::vector<at::Tensor>& inputs) {
    const at::ScalarType dtype = inputs.at(0).scalar_type();
    at::Tensor y = time_->forward(
        NumberFeatures(inputs.at(2), kFlux2TimeFeatures).to(dtype));
    if (!guidance_) return y;
    return y + guidance_->forward(
                   NumberFeatures(inputs.at(3), kFlux2TimeFeatures).to(dtype));
  }

  Flux2Config config_;
  std::shared_ptr<ConditionEmbedding> time_;
  std::shared_ptr<ConditionEmbedding> guidance_;  ///< Null without.
  std::shared_ptr<SharedModulation> of_image_;
  std::shared_ptr<SharedModulation> of_text_;
  std::shared_ptr<SharedModulation> of_single_;
  Dense image_ = nullptr;
  Dense text_ = nullptr;
  std::vector<std::shared_ptr<Flux2Block>> blocks_;
  std::vector<std::shared_ptr<Flux2SingleBlock>> singles_;
  std::shared_ptr<AdaptiveNorm> norm_out_;
  Dense proj_out_ = nullptr;
};

std::shared_ptr<Network> Flux2Config::Make() const {
  RequireEvenHeads(heads, head_width);
  Require(inner > 0, "inner must be positive");
  return std::make_shared<Flux2>(*this);
}

constexpr std::array<Variant, 3> kFlux2Variants = {{
    {"flux2_dev", ""},
    {"flux2_klein_9b",
     "single_depth=24&heads=32&text_width=12288&guidance=false"},
    {"flux2_klein_4b",
     "depth=5&single_depth=20&heads=24&text_width=7680&guidance=false"},
}};

}  // namespace

const Family kFlux2 = {"flux2", kFlux2Variants, &Configure<Flux2Config>};

}  // namespace foretell::zoo
