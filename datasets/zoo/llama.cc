// Decoders of language with the operators of transformers 4.45 to 4.57: by
// default LlamaForCausalLM (Touvron et al. 2023), by the fields of LlamaConfig
// the families that docs/zoo.md lists.
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
#include <utility>

#include "datasets/zoo/delta_net.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/llama_attention.h"
#include "datasets/zoo/llama_config.h"
#include "datasets/zoo/llama_mlp.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/rotary.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

class LlamaBlock final : public torch::nn::Module {
 public:
  LlamaBlock(const LlamaConfig& config, std::int64_t layer) : config_(config) {
    const bool post = config.post_norms;
    const bool pre = config.pre_norms;
    if (pre) attention_norm_ = AddNorm("input_layernorm");
    if (config.IsLinear(layer)) {
      delta_ = register_module("linear_attn",
                               std::make_shared<GatedDeltaNet>(config));
    } else {
      attention_ = register_module(
          "self_attn", std::make_shared<GroupedAttention>(config, layer));
    }
    if (post) after_attention_ = AddNorm("post_attention_layernorm");
    if (pre && (!config.parallel_blocks || config.parallel_norms == 2)) {
      mlp_norm_ = AddNorm(post ? "pre_feedforward_layernorm"
                               : "post_attention_layernorm");
    }
    mlp_ = register_module("mlp", MakeFeedForwardPart(config, layer));
    if (post) after_mlp_ = AddNorm("post_feedforward_layernorm");
  }

  at::Tensor forward(const at::Tensor& x, const DecoderPass& pass) {
    const ModuleScope scope(*this);
    if (config_.parallel_blocks) return RunParallel(x, pass);
    at::Tensor y = attention_norm_ ? attention_norm_->forward(x) : x;
    y = delta_ ? delta_->forward(y) : attention_->forward(y, pass);
    y = Join(x, y, after_attention_);
    const at::Tensor residual = y;
    if (mlp_norm_) y = mlp_norm_->forward(y);
    y = mlp_->forward(y);
    return Join(residual, y, after_mlp_);
  }

 private:
  std::shared_ptr<TokenNorm> AddNorm(const std::string& name) {
    return register_module(name, config_.MakeNorm(config_.width));
  }

  at::Tensor Drop(const at::Tensor& x) const {
    if (!is_training() || config_.dropout == 0) return x;
    return at::dropout(x, config_.dropout, /*train=*/true);
  }

  /// The residual stream with the result of a branch.
  at::Tensor Join(const at::Tensor& residual, const at::Tensor& branch,
                  const std::shared_ptr<TokenNorm>& norm) const {
    at::Tensor y = norm ? norm->forward(branch) : branch;
    y = Drop(y);
    if (config_.residual_scale != 1) y = y * config_.residual_scale;
    return at::add(residual, y);
  }

  at::Tensor RunParallel(const at::Tensor& x, const DecoderPass& pass) {
    const at::Tensor normed = attention_norm_->forward(x);
    at::Tensor attended = attention_->forward(normed, pass);
    attended = Drop(attended);
    at::Tensor y = mlp_norm_ ? mlp_norm_->forward(x) : normed;
    y = mlp_->forward(y);
    y = Drop(y);
    y = at::add(y, attended);
    return at::add(y, x);
  }

  LlamaConfig config_;
  std::shared_ptr<TokenNorm> attention_norm_;  ///< Null without pre_norms.
  std::shared_ptr<GroupedAttention> attention_;
  std::shared_ptr<GatedDeltaNet> delta_;        ///< Instead of attention_.
  std::shared_ptr<TokenNorm> after_attention_;  ///< Null without post_norms.
  /// Null without pre_norms or if both branches read one norm.
  std::shared_ptr<TokenNorm> mlp_norm_;
  std::shared_ptr<FeedForwardPart> mlp_;
  std::shared_ptr<TokenNorm> after_mlp_;
};

class Llama final : public Network {
 public:
  explicit Llama(const LlamaConfig& config) : config_(config) {
    words_ = register_module(
        "embed_tokens", torch::nn::Embedding(config.vocabulary, config.width));
    AddPositions();
    if (!config.tower.empty()) {
      register_parameter("vision_tower", at::zeros({config.TowerNumbers()}));
    }
    for (std::int64_t i = 0; i < config.depth; ++i) {
      blocks_.push_back(register_module(
          fmt::format("{}", i), std::make_shared<LlamaBlock>(config, i)));
    }
    norm_ = register_module("norm", config.MakeNorm(config.width));
    if (config.tied_head) return;
    head_ = register_module(
        "lm_head", Dense(config.width, config.vocabulary, config.head_bias));
  }

  /// tokens: i64[batch, seq], in decode with the cache; returns logits [batch,
  /// tokens, vocabulary], after prefill with the cache, in training with what
  /// config.returned_cache says; the last states if the loss has the head.
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    Require(!is_training() || config_.phase == "forward",
            fmt::format("phase={}: training has forward only", config_.phase));
    const at::Tensor& tokens = inputs.front();
    const at::Tensor words = words_->forward(tokens);
    DecoderPass pass = Begin(inputs, words);
    std::vector<at::Tensor> results(1);
    if (is_training() && config_.returned_cache) pass.projections = &results;
    at::Tensor y = Embed(words, pass);
    for (const std::shared_ptr<LlamaBlock>& block : blocks_) {
      y = block->forward(y, pass);
    }
    y = norm_->forward(y);
    const bool loss_has_head = is_training() && LossHasHead();
    if (is_training() && !loss_has_head) states_ = y;
    results[0] = loss_has_head ? y : Logits(y);
    if (config_.phase == "prefill") results.push_back(pass.cache);
    return results;
  }

  std::optional<NamedLoss> Loss(
      const std::vector<at::Tensor>& inputs,
      const std::vector<at::Tensor>& outputs) const override {
    const at::Tensor& logits = outputs.front();
    const at::Tensor& tokens = inputs.front();
    // transformers computes the loss in `forward`, whose last states have names
    // until it returns.
    const at::Tensor states = std::move(states_);
    if (LossHasHead()) {
      return CrossEntropyOfStates(
          logits, config_.tied_head ? words_->weight : head_->weight, tokens);
    }
    if (!config_.shift_logits) return CrossEntropyOfTokens(logits, tokens);
    // ForCausalLMLoss of transformers 4.46 to 4.48, and the models before it.
    const std::int64_t pairs = tokens.size(1) - 1;
    const at::Tensor scores =
        config_.upcast_loss ? logits.to(at::kFloat) : logits;
    const at::Tensor shifted = scores.narrow(1, 0, pairs).contiguous();
    const at::Tensor labels = tokens.narrow(1, 1, pairs).contiguous();
    return CrossEntropyOfTokens(shifted, labels, config_.upcast_loss);
  }

 private:
  void AddPositions() {
    const std::int64_t positions = config_.positions;
    if (!config_.positions_learned) {
      frequencies_ = register_buffer(
          "inv_freq",
          RotaryFrequencies(config_.TurnedWidth(), config_.rotary_base));
      if (!config_.window_rotary) return;
      window_frequencies_ = register_buffer(
          "window_inv_freq",
          RotaryFrequencies(config_.TurnedWidth(), config_.rotary_base));
      return;
    }
    positions_ =
        register_module("wpe", torch::nn::Embedding(positions, config_.width));
    register_buffer("bias",
                    at::ones({positions, positions}, at::kBool).tril_());
  }

  DecoderPass Begin(const std::vector<at::Tensor>& inputs,
                    const at::Tensor& words) {
    DecoderPass pass;
    if (config_.IsDecoding()) {
      pass.cache = inputs.at(1);
      pass.cached = config_.cache;
    }
    if (!config_.positions_learned) {
      pass.rotary = MakeRotaryTables(frequencies_, pass.cached, words,
                                     ParseRotaryKind(config_.rotary));
    }
    if (config_.window_rotary) {
      pass.window_rotary =
          MakeRotaryTables(window_frequencies_, pass.cached, words,
                           ParseRotaryKind(config_.rotary));
    }
    MakeMasks(config_, words, pass);
    if (config_.phase == "prefill") {
      pass.cache = at::empty({config_.depth, 2, words.size(0), config_.kv_heads,
                              config_.Room(), config_.HeadWidth()},
                             words.options());
    }
    return pass;
  }

  /// What the first block reads.
  at::Tensor Embed(const at::Tensor& words, const DecoderPass& pass) {
    at::Tensor y = words;
    if (config_.embedding_scale != 1) y = y * config_.embedding_scale;
    if (!config_.positions_learned) return y;
    const at::Tensor places =
        at::arange(pass.cached, pass.cached + words.size(1),
                   words.options().dtype(at::kLong));
    y = y + positions_->forward(places.unsqueeze(0));
    if (!is_training() || config_.dropout == 0) return y;
    return at::dropout(y, config_.dropout, /*train=*/true);
  }

  at::Tensor Logits(const at::Tensor& states) {
    const bool of_all = config_.phase == "forward" || config_.all_logits;
    const at::Tensor seen =
        of_all ? states : states.narrow(1, states.size(1) - 1, 1);
    at::Tensor logits = config_.tied_head ? at::linear(seen, words_->weight)
                                          : head_->forward(seen);
    if (config_.logits_scale != 1) logits = logits / config_.logits_scale;
    if (config_.logit_softcap > 0) {
      logits = logits / config_.logit_softcap;
      logits = at::tanh(logits);
      logits = logits * config_.logit_softcap;
    }
    const bool upcast = config_.all_logits || config_.upcast_logits;
    return upcast ? logits.to(at::kFloat) : logits;
  }

  LlamaConfig config_;
  torch::nn::Embedding words_ = nullptr;
  torch::nn::Embedding positions_ = nullptr;  ///< If they are learned.
  at::Tensor frequencies_;
  at::Tensor window_frequencies_;  ///< If config.window_rotary.
  std::vector<std::shared_ptr<LlamaBlock>> blocks_;
  mutable at::Tensor states_;  ///< The last ones, from Run to Loss.
  std::shared_ptr<TokenNorm> norm_;
  Dense head_ = nullptr;
};

// Sizes of the rows after qwen3_14b: litgpt/config.py of Lightning-AI/litgpt
// 26857050; what it leaves out (tied heads, longest sequences) the model
// builders of pytorch/torchtune bd2a0fc7; phi3_mini's window its config.json;
// santacoder the header of ravenscroftj/turbopilot that cites its config.json.
constexpr std::array<Variant, 24> kLlamaVariants = {{
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
    {"llama3_2_3b",
     "width=3072&depth=28&heads=24&kv_heads=8&inner=8192&vocabulary=128256&"
     "positions=131072&rotary_base=500000&tied_head=true"},
    {"tinyllama_1_1b",
     "width=2048&depth=22&kv_heads=4&inner=5632&positions=2048"},
    {"smollm2_135m",
     "width=576&depth=30&heads=9&kv_heads=3&inner=1536&vocabulary=49152&"
     "positions=8192&rotary_base=100000&tied_head=true"},
    {"qwen2_5_1_5b",
     "width=1536&depth=28&heads=12&kv_heads=2&inner=8960&vocabulary=151936&"
     "positions=131072&rotary_base=1000000&qkv_bias=true&tied_head=true"},
    {"qwen3_4b",
     "width=2560&depth=36&kv_heads=8&head_width=128&inner=9728&"
     "vocabulary=151936&positions=40960&rotary_base=1000000&head_norms=true&"
     "tied_head=true"},
    {"gemma_2b",
     "width=2048&depth=18&heads=8&kv_heads=1&inner=16384&vocabulary=256000&"
     "positions=8192&tied_head=true&norm=gemma&activation=gelu_tanh&"
     "embedding_scale=45.254833995939045"},
    {"gemma_7b",
     "width=3072&depth=28&heads=16&kv_heads=16&head_width=256&inner=24576&"
     "vocabulary=256000&positions=8192&tied_head=true&norm=gemma&"
     "activation=gelu_tanh&embedding_scale=55.42562584220407"},
    {"gemma2_2b",
     "width=2304&depth=26&heads=8&kv_heads=4&head_width=256&inner=9216&"
     "vocabulary=256000&positions=8192&tied_head=true&norm=gemma&"
     "activation=gelu_tanh&embedding_scale=48&post_norms=true&window=4096&"
     "window_pattern=2&attention_softcap=50&logit_softcap=30"},
    {"gemma2_9b",
     "width=3584&depth=42&heads=16&kv_heads=8&head_width=256&inner=14336&"
     "vocabulary=256000&positions=8192&tied_head=true&norm=gemma&"
     "activation=gelu_tanh&embedding_scale=59.86651818838306&"
     "post_norms=true&window=4096&window_pattern=2&attention_softcap=50&"
     "logit_softcap=30"},
    {"phi3_mini",
     "width=3072&inner=8192&vocabulary=32064&fused_qkv=true&"
     "fused_gate_up=true&window=2047"},
    {"falcon_7b",
     "width=4544&heads=71&kv_heads=1&inner=18176&vocabulary=65024&"
     "positions=2048&tied_head=true&norm=layer&parallel_blocks=true&"
     "fused_qkv=true&copied_kv=true&activation=gelu&mlp_gate=false"},
    {"pythia_410m",
     "width=1024&depth=24&heads=16&kv_heads=16&inner=4096&vocabulary=50304&"
     "positions=2048&norm=layer&parallel_blocks=true&parallel_norms=2&"
     "rotary_share=0.25&fused_qkv=true&qkv_bias=true&out_bias=true&"
     "activation=gelu&mlp_gate=false&mlp_bias=true"},
    {"pythia_1_4b",
     "width=2048&depth=24&heads=16&kv_heads=16&inner=8192&vocabulary=50304&"
     "positions=2048&norm=layer&parallel_blocks=true&parallel_norms=2&"
     "rotary_share=0.25&fused_qkv=true&qkv_bias=true&out_bias=true&"
     "activation=gelu&mlp_gate=false&mlp_bias=true"},
    {"mixtral_8x7b",
     "kv_heads=8&inner=14336&positions=32768&rotary_base=1000000&experts=8"},
    {"santacoder",
     "width=2048&depth=24&heads=16&kv_heads=1&inner=8192&vocabulary=49280&"
     "positions=2048&positions_learned=true&tied_head=true&norm=layer&"
     "fused_qkv=true&qkv_bias=true&out_bias=true&activation=gelu_tanh&"
     "mlp_gate=false&mlp_bias=true&dropout=0.1&attention_dropout=0.1"},
}};

}  // namespace

std::shared_ptr<Network> LlamaConfig::Make() const {
  Check();
  return std::make_shared<Llama>(*this);
}

const Family kLlama = {"llama", kLlamaVariants, &Configure<LlamaConfig>};

}  // namespace foretell::zoo
