// Decoders of the LLaMA kind (Touvron et al. 2023) with the operators of
// transformers' LlamaForCausalLM: root-mean-square norms, rotary positions,
// groups of query heads that share a key and value head, SwiGLU.
//
// One configuration has three passes:
//
//   forward   a whole sequence, logits of every token, nothing is kept
//   prefill   a prompt, whose keys and values fill a cache that the pass
//             returns together with the logits of the last token
//   decode    one more token per sequence: it is appended to the cache, an
//             input, and attends to all of it
//
// The cache is one tensor that has room from the start, as serving engines hold
// it. (transformers' default cache grows: each step copies all of it.)

#include <fmt/core.h>
#include <torch/nn/modules/embedding.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/rms_norm.h"
#include "datasets/zoo/rotary.h"
#include "datasets/zoo/transformer_layers.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

struct LlamaConfig {
  std::int64_t width = 4096;
  std::int64_t depth = 32;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 32;  ///< Of keys and values; divides heads.
  std::int64_t inner = 11008;
  std::int64_t vocabulary = 32000;
  std::int64_t positions = 4096;  ///< Longest sequence.
  double rotary_base = 10000;
  bool qkv_bias = false;
  bool head_norms = false;  ///< Of every head of queries and keys, as Qwen3's.
  bool tied_head = false;   ///< The embedding's weight is the head's too.
  std::string phase = "forward";  ///< Or "prefill", "decode".
  /// Tokens: in decode those in the cache before the step; in prefill those
  /// that it has room for (0: the prompt).
  std::int64_t cache = 0;
  /// Except in decode, logits of every token and once more in 32 bits, as
  /// transformers before 4.45 returned them; its loss copied all but the last.
  bool all_logits = false;
  std::int64_t seq = 512;  ///< Tokens; ignored in decode, which has one.

  FORETELL_FIELDS(width, depth, heads, kv_heads, inner, vocabulary, positions,
                  rotary_base, qkv_bias, head_norms, tied_head, phase, cache,
                  all_logits, seq)

  bool IsDecoding() const { return phase == "decode"; }
  std::int64_t HeadWidth() const { return heads == 0 ? 0 : width / heads; }
  std::int64_t Tokens() const { return IsDecoding() ? 1 : seq; }
  /// Tokens that the cache has room for.
  std::int64_t Room() const {
    if (IsDecoding()) return cache + 1;
    return cache == 0 ? seq : cache;
  }

  std::vector<InputSpec> Inputs() const {
    std::vector<InputSpec> inputs = {
        BatchedInput("tokens", DType::kI64, {Tokens()})};
    if (!IsDecoding()) return inputs;
    inputs.push_back(
        BatchedInput("cache", DType::kF32, {kv_heads, Room(), HeadWidth()}));
    auto& dims = *inputs.back().dims;
    dims.insert(dims.begin(), {{.value = depth}, {.value = 2}});
    return inputs;
  }
  std::shared_ptr<Network> Make() const;
};

/// What the layers of a pass share.
struct Pass {
  RotaryTables rotary;
  /// [depth, 2, batch, kv_heads, room, head width]; undefined without a cache.
  at::Tensor cache;
  std::int64_t cached = 0;  ///< Tokens in the cache before the pass.
};

/// Writes `states` [batch, kv_heads, tokens, width] after what `cache` holds
/// and returns a view of all that it then holds.
at::Tensor Append(const at::Tensor& states, const at::Tensor& cache,
                  std::int64_t cached) {
  cache.narrow(2, cached, states.size(2)).copy_(states);
  return cache.narrow(2, 0, cached + states.size(2));
}

class GroupedAttention final : public torch::nn::Module {
 public:
  GroupedAttention(const LlamaConfig& config, std::int64_t layer)
      : layer_(layer), heads_(config.heads), kv_heads_(config.kv_heads) {
    const std::int64_t inside = config.heads * config.HeadWidth();
    const std::int64_t shared = config.kv_heads * config.HeadWidth();
    const bool bias = config.qkv_bias;
    q_ = register_module("q_proj", Dense(config.width, inside, bias));
    k_ = register_module("k_proj", Dense(config.width, shared, bias));
    v_ = register_module("v_proj", Dense(config.width, shared, bias));
    o_ = register_module("o_proj", Dense(inside, config.width, false));
    if (!config.head_norms) return;
    q_norm_ = register_module("q_norm",
                              std::make_shared<RmsNorm>(config.HeadWidth()));
    k_norm_ = register_module("k_norm",
                              std::make_shared<RmsNorm>(config.HeadWidth()));
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) {
    const ModuleScope scope(*this);
    at::Tensor q = Heads(q_->forward(x), heads_, q_norm_);
    at::Tensor k = Heads(k_->forward(x), kv_heads_, k_norm_);
    at::Tensor v = SplitHeads(v_->forward(x), kv_heads_);
    Rotate(q, k, pass.rotary);
    if (pass.cache.defined()) {
      const at::Tensor own = pass.cache.select(0, layer_);
      k = Append(k, own.select(0, 0), pass.cached);
      v = Append(v, own.select(0, 1), pass.cached);
    }
    at::Tensor y = at::scaled_dot_product_attention(
        q, k, v, {}, /*dropout_p=*/0, /*is_causal=*/q.size(2) > 1,
        /*scale=*/std::nullopt, /*enable_gqa=*/heads_ != kv_heads_);
    y = MergeHeads(y);
    return o_->forward(y);
  }

 private:
  /// `x` as SplitHeads divides it, each head normalised if there is a norm.
  static at::Tensor Heads(const at::Tensor& x, std::int64_t heads,
                          const std::shared_ptr<RmsNorm>& norm) {
    if (!norm) return SplitHeads(x, heads);
    const at::Tensor states = x.view({x.size(0), x.size(1), heads, -1});
    return norm->forward(states).transpose(1, 2);
  }

  std::int64_t layer_;
  std::int64_t heads_;
  std::int64_t kv_heads_;
  std::shared_ptr<RmsNorm> q_norm_;
  std::shared_ptr<RmsNorm> k_norm_;
  Dense q_ = nullptr;
  Dense k_ = nullptr;
  Dense v_ = nullptr;
  Dense o_ = nullptr;
};

/// silu(x G) ⊙ x U, projected back (Shazeer 2020).
class SwiGlu final : public torch::nn::Module {
 public:
  explicit SwiGlu(const LlamaConfig& config) {
    const std::int64_t width = config.width;
    gate_ = register_module("gate_proj", Dense(width, config.inner, false));
    up_ = register_module("up_proj", Dense(width, config.inner, false));
    down_ = register_module("down_proj", Dense(config.inner, width, false));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    return down_->forward(Gated(x));
  }

 private:
  at::Tensor Gated(const at::Tensor& x) {
    at::Tensor gate = gate_->forward(x);
    if (FusedKernelScope::Takes(FusedKernel::kSwiGlu)) {
      return liger::SwiGlu(gate, up_->forward(x));
    }
    gate = at::silu(gate);
    const at::Tensor up = up_->forward(x);
    return gate * up;
  }

  Dense gate_ = nullptr;
  Dense up_ = nullptr;
  Dense down_ = nullptr;
};

struct LlamaBlock : torch::nn::Module {
  LlamaBlock(const LlamaConfig& config, std::int64_t layer) {
    attention_norm_ = register_module("input_layernorm",
                                      std::make_shared<RmsNorm>(config.width));
    attention_ = register_module(
        "self_attn", std::make_shared<GroupedAttention>(config, layer));
    mlp_norm_ = register_module("post_attention_layernorm",
                                std::make_shared<RmsNorm>(config.width));
    mlp_ = register_module("mlp", std::make_shared<SwiGlu>(config));
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) {
    const ModuleScope scope(*this);
    at::Tensor y = attention_norm_->forward(x);
    y = attention_->forward(y, pass);
    y = at::add(x, y);
    const at::Tensor residual = y;
    y = mlp_norm_->forward(y);
    y = mlp_->forward(y);
    return at::add(residual, y);
  }

 private:
  std::shared_ptr<RmsNorm> attention_norm_;
  std::shared_ptr<GroupedAttention> attention_;
  std::shared_ptr<RmsNorm> mlp_norm_;
  std::shared_ptr<SwiGlu> mlp_;
};

class Llama final : public Network {
 public:
  explicit Llama(const LlamaConfig& config) : config_(config) {
    words_ = register_module(
        "embed_tokens", torch::nn::Embedding(config.vocabulary, config.width));
    frequencies_ = register_buffer(
        "inv_freq", RotaryFrequencies(config.HeadWidth(), config.rotary_base));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      blocks_.push_back(register_module(
          fmt::format("{}", i), std::make_shared<LlamaBlock>(config, i)));
    }
    norm_ = register_module("norm", std::make_shared<RmsNorm>(config.width));
    if (config.tied_head) return;
    head_ = register_module("lm_head",
                            Dense(config.width, config.vocabulary, false));
  }

  /// tokens: i64[batch, seq], in decode with the cache; returns logits [batch,
  /// tokens, vocabulary], after prefill with the cache; the last states if the
  /// loss has the head.
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    Require(!is_training() || config_.phase == "forward",
            fmt::format("phase={}: training has forward only", config_.phase));
    const at::Tensor& tokens = inputs.front();
    const at::Tensor words = words_->forward(tokens);
    const Pass pass = Begin(inputs, words);
    at::Tensor y = words;
    for (const std::shared_ptr<LlamaBlock>& block : blocks_) {
      y = block->forward(y, pass);
    }
    y = norm_->forward(y);
    if (is_training() && LossHasHead()) return {y};
    y = Logits(y);
    if (config_.phase != "prefill") return {y};
    return {y, pass.cache};
  }

  std::optional<NamedLoss> Loss(
      const std::vector<at::Tensor>& inputs,
      const std::vector<at::Tensor>& outputs) const override {
    if (!LossHasHead()) return OfLogits(outputs.front(), inputs.front());
    const at::Tensor& head = config_.tied_head ? words_->weight : head_->weight;
    return CrossEntropyOfStates(outputs.front(), head, inputs.front());
  }

 private:
  /// Each token's logits with the next token in the older code.
  NamedLoss OfLogits(const at::Tensor& logits, const at::Tensor& tokens) const {
    if (!config_.all_logits) return CrossEntropyOfTokens(logits, tokens);
    const std::int64_t known = tokens.size(1) - 1;
    return CrossEntropyOfTokens(logits.narrow(1, 0, known).contiguous(),
                                tokens.narrow(1, 1, known));
  }

  Pass Begin(const std::vector<at::Tensor>& inputs, const at::Tensor& words) {
    Pass pass;
    if (config_.IsDecoding()) {
      pass.cache = inputs.at(1);
      pass.cached = config_.cache;
    }
    pass.rotary = MakeRotaryTables(frequencies_, pass.cached, words.size(1),
                                   words.scalar_type());
    if (config_.phase == "prefill") {
      pass.cache = at::empty({config_.depth, 2, words.size(0), config_.kv_heads,
                              config_.Room(), config_.HeadWidth()},
                             words.options());
    }
    return pass;
  }

  at::Tensor Logits(const at::Tensor& states) {
    const bool of_all = config_.phase == "forward" || config_.all_logits;
    const at::Tensor seen =
        of_all ? states : states.narrow(1, states.size(1) - 1, 1);
    const at::Tensor logits = config_.tied_head
                                  ? at::linear(seen, words_->weight)
                                  : head_->forward(seen);
    return config_.all_logits ? logits.to(at::kFloat) : logits;
  }

  LlamaConfig config_;
  torch::nn::Embedding words_ = nullptr;
  at::Tensor frequencies_;
  std::vector<std::shared_ptr<LlamaBlock>> blocks_;
  std::shared_ptr<RmsNorm> norm_;
  Dense head_ = nullptr;
};

std::shared_ptr<Network> LlamaConfig::Make() const {
  RequireHeads(width, heads);
  Require(kv_heads > 0 && heads % kv_heads == 0,
          fmt::format("heads={} is not a multiple of kv_heads={}", heads,
                      kv_heads));
  Require(
      HeadWidth() % 2 == 0,
      fmt::format("head width {} is odd, expected an even one", HeadWidth()));
  Require(phase == "forward" || phase == "prefill" || IsDecoding(),
          fmt::format("phase={}: expected forward, prefill or decode", phase));
  Require(
      phase != "forward" || cache == 0,
      fmt::format("cache={}: a forward pass has no cache, see phase", cache));
  Require(!all_logits || !IsDecoding(),
          "all_logits=true: phase=decode has the logits of one token");
  RequirePositions(Tokens(), positions);
  Require(cache == 0 || (Room() >= Tokens() && Room() <= positions),
          fmt::format("cache={}: {} tokens do not fit, or it exceeds "
                      "positions={}",
                      cache, Tokens(), positions));
  return std::make_shared<Llama>(*this);
}

constexpr std::array<Variant, 9> kLlamaVariants = {{
    {"llama2_7b", ""},
    {"llama2_13b", "width=5120&depth=40&heads=40&kv_heads=40&inner=13824"},
    {"llama3_8b",
     "kv_heads=8&inner=14336&vocabulary=128256&positions=8192&"
     "rotary_base=500000"},
    {"llama3_2_1b",
     "width=2048&depth=16&kv_heads=8&inner=8192&vocabulary=128256&"
     "positions=131072&rotary_base=500000&tied_head=true"},
    {"mistral_7b", "kv_heads=8&inner=14336&positions=32768"},
    {"qwen2_0_5b",
     "width=896&depth=24&heads=14&kv_heads=2&inner=4864&vocabulary=151936&"
     "positions=32768&rotary_base=1000000&qkv_bias=true&tied_head=true"},
    {"qwen2_7b",
     "width=3584&depth=28&heads=28&kv_heads=4&inner=18944&vocabulary=152064&"
     "positions=32768&rotary_base=1000000&qkv_bias=true"},
    {"qwen3_8b",
     "depth=36&kv_heads=8&inner=12288&vocabulary=151936&positions=40960&"
     "rotary_base=1000000&head_norms=true"},
    {"qwen3_14b",
     "width=5120&depth=40&heads=40&kv_heads=8&inner=17408&vocabulary=151936&"
     "positions=40960&rotary_base=1000000&head_norms=true"},
}};

}  // namespace

const Family kLlama = {"llama", kLlamaVariants, &Configure<LlamaConfig>};

}  // namespace foretell::zoo
