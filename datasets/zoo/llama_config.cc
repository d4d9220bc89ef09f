#include "datasets/zoo/llama_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "datasets/zoo/rotary.h"
#include "datasets/zoo/token_activation.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

/// By transformers' modeling_*.py.
constexpr LayerNames kLayerNames[] = {
    {"llama", "qkv_proj", "o_proj", "up_proj", "down_proj"},
    {"phi", "qkv_proj", "dense", "fc1", "fc2"},
    {"starcoder2", "qkv_proj", "o_proj", "c_fc", "c_proj"},
    {"gpt_neox", "query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"},
    {"gpt_bigcode", "c_attn", "c_proj", "c_fc", "c_proj"},
};

constexpr std::string_view kMoeKinds[] = {"mixtral", "glm4", "granite",
                                          "gpt_oss", "llama4"};

void CheckHeads(const LlamaConfig& config) {
  if (config.head_width == 0) RequireHeads(config.width, config.heads);
  Require(config.heads > 0 && config.kv_heads > 0 &&
              config.heads % config.kv_heads == 0,
          fmt::format("heads={} is not a multiple of kv_heads={}", config.heads,
                      config.kv_heads));
  Require(!config.copied_kv || config.fused_qkv,
          "copied_kv=true needs fused_qkv=true");
  Require(!config.width_norms || !config.fused_qkv,
          "width_norms=true needs fused_qkv=false");
  Require(config.attention == "sdpa" || config.attention == "eager" ||
              config.attention == "flash" || config.attention == "flex",
          fmt::format("attention={}: expected sdpa, eager, flash or flex",
                      config.attention));
  Require(!config.sinks || config.attention == "eager" ||
              config.attention == "flash",
          fmt::format("sinks=true needs attention=eager or flash, and it is {}",
                      config.attention));
  Require(config.attention != "flex" || config.attention_dropout == 0,
          "attention=flex has no attention_dropout");
  if (!config.head_norm.empty()) ParseNormKind(config.head_norm);
  Require(!config.gated_attention || !config.fused_qkv,
          "gated_attention=true needs fused_qkv=false");
  Require(!config.late_head_norms || config.head_norms,
          "late_head_norms=true needs head_norms=true");
  Require(ParseRotaryKind(config.rotary) == RotaryKind::kHalves ||
              !config.fused_qkv,
          fmt::format("rotary={} needs fused_qkv=false", config.rotary));
  if (config.positions_learned) return;
  Require(config.HeadWidth() % 2 == 0,
          fmt::format("head width {} is odd, expected an even one",
                      config.HeadWidth()));
  Require(config.rotary_share > 0 && config.rotary_share <= 1 &&
              config.TurnedWidth() > 0 && config.TurnedWidth() % 2 == 0,
          fmt::format("rotary_share={}: {} of {} numbers of a head turn, "
                      "expected a positive even number",
                      config.rotary_share, config.TurnedWidth(),
                      config.HeadWidth()));
}

void CheckExperts(const LlamaConfig& config) {
  Require(config.experts == 0 || (config.experts_per_token > 0 &&
                                  config.experts_per_token <= config.experts),
          fmt::format("experts_per_token={}: expected 1 to experts={}",
                      config.experts_per_token, config.experts));
  const auto* const known = std::ranges::find(kMoeKinds, config.moe);
  Require(known != std::end(kMoeKinds),
          fmt::format("moe={}: expected {}", config.moe,
                      fmt::join(kMoeKinds, ", ")));
  const bool is_other = config.moe != "mixtral";
  Require(!is_other || config.experts > 0,
          fmt::format("moe={} needs experts", config.moe));
  const bool has_shared = config.moe == "mixtral" || config.moe == "glm4";
  Require(has_shared || config.shared_inner == 0,
          fmt::format("moe={} has no shared_inner", config.moe));
}

void CheckBlocks(const LlamaConfig& config) {
  ParseNormKind(config.norm);
  FindTokenActivation(config.activation);
  config.Names();
  Require(
      config.parallel_norms == 1 || config.parallel_norms == 2,
      fmt::format("parallel_norms={}: expected 1 or 2", config.parallel_norms));
  Require(!config.parallel_blocks || (config.pre_norms && !config.post_norms),
          "parallel_blocks=true has pre_norms=true and post_norms=false");
  Require(config.mlp_gate || (!config.fused_gate_up && config.experts == 0),
          "mlp_gate=false has no fused_gate_up=true and no experts");
  CheckExperts(config);
}

void CheckTower(const LlamaConfig& config) {
  Require(config.tower.empty() || config.tower.size() == 2,
          fmt::format("tower has {} numbers, expected 2: millions and the rest",
                      config.tower.size()));
}

void CheckLinear(const LlamaConfig& config) {
  if (config.linear_pattern == 0) return;
  Require(config.phase == "forward",
          fmt::format("phase={}: gated delta nets have forward only",
                      config.phase));
  Require(config.linear_key_heads > 0 &&
              config.linear_value_heads % config.linear_key_heads == 0 &&
              config.linear_value_heads > 0,
          fmt::format("linear_value_heads={} is not a multiple of "
                      "linear_key_heads={}",
                      config.linear_value_heads, config.linear_key_heads));
}

void CheckPhase(const LlamaConfig& config) {
  Require(config.phase == "forward" || config.phase == "prefill" ||
              config.IsDecoding(),
          fmt::format("phase={}: expected forward, prefill or decode",
                      config.phase));
  Require(config.phase != "forward" || config.cache == 0,
          fmt::format("cache={}: a forward pass has no cache, see phase",
                      config.cache));
  Require(!config.all_logits || config.phase == "prefill",
          fmt::format("all_logits=true changes prefill, not phase={}",
                      config.phase));
  Require(
      !config.packed || config.phase == "forward",
      fmt::format("packed=true changes forward, not phase={}", config.phase));
  RequirePositions(config.Tokens(), config.positions);
  Require(!config.shift_logits || config.seq > 1,
          "shift_logits=true needs seq of at least 2");
  Require(config.upcast_loss || config.shift_logits,
          "upcast_loss=false needs shift_logits=true");
  Require(!config.returned_cache || config.fused_qkv,
          "returned_cache=true needs fused_qkv=true");
  Require(config.cache == 0 || (config.Room() >= config.Tokens() &&
                                config.Room() <= config.positions),
          fmt::format("cache={}: {} tokens do not fit, or it exceeds "
                      "positions={}",
                      config.cache, config.Tokens(), config.positions));
}

}  // namespace

const LayerNames& LlamaConfig::Names() const {
  const auto* const found =
      std::ranges::find(kLayerNames, layer_names, &LayerNames::kind);
  Require(found != std::end(kLayerNames),
          fmt::format("layer_names={}: expected llama, phi, starcoder2, "
                      "gpt_neox or gpt_bigcode",
                      layer_names));
  return *found;
}

std::int64_t LlamaConfig::HeadWidth() const {
  if (head_width > 0) return head_width;
  return heads == 0 ? 0 : width / heads;
}

std::int64_t LlamaConfig::TurnedWidth() const {
  return static_cast<std::int64_t>(static_cast<double>(HeadWidth()) *
                                   rotary_share);
}

std::int64_t LlamaConfig::Room() const {
  if (IsDecoding()) return cache + 1;
  return cache == 0 ? seq : cache;
}

bool LlamaConfig::HasWindow(std::int64_t layer) const {
  return window > 0 &&
         (window_pattern == 0 || (layer + 1) % window_pattern != 0);
}

std::int64_t LlamaConfig::TowerNumbers() const {
  return tower.empty() ? 0 : tower[0] * kTowerUnit + tower[1];
}

bool LlamaConfig::IsLinear(std::int64_t layer) const {
  return linear_pattern > 0 && (layer + 1) % linear_pattern != 0;
}

bool LlamaConfig::HasExperts(std::int64_t layer) const {
  return experts > 0 && layer >= first_dense &&
         (expert_pattern == 0 || (layer + 1) % expert_pattern == 0);
}

bool LlamaConfig::IsRotary(std::int64_t layer) const {
  return !positions_learned &&
         (rotary_pattern == 0 || (layer + 1) % rotary_pattern != 0);
}

std::shared_ptr<TokenNorm> LlamaConfig::MakeNorm(std::int64_t size) const {
  return std::make_shared<TokenNorm>(ParseNormKind(norm), size);
}

std::vector<InputSpec> LlamaConfig::Inputs() const {
  std::vector<InputSpec> inputs = {
      BatchedInput("tokens", DType::kI64, {Tokens()})};
  if (!IsDecoding()) return inputs;
  inputs.push_back(
      BatchedInput("cache", DType::kF32, {kv_heads, Room(), HeadWidth()}));
  auto& dims = *inputs.back().dims;
  dims.insert(dims.begin(), {{.value = depth}, {.value = 2}});
  return inputs;
}

void LlamaConfig::Check() const {
  CheckHeads(*this);
  CheckBlocks(*this);
  CheckTower(*this);
  CheckLinear(*this);
  CheckPhase(*this);
}

}  // namespace foretell::zoo
