#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/zoo/llama_config.h"
#include "datasets/zoo/rotary.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// What the layers of a pass share.
struct DecoderPass {
  RotaryTables rotary;         ///< Undefined if positions are learned.
  RotaryTables window_rotary;  ///< Of layers with a window, if they differ.
  /// [depth, 2, batch, kv_heads, room, head width]; undefined without a cache.
  at::Tensor cache;
  std::int64_t cached = 0;  ///< Tokens in the cache before the pass.
  /// Of layers without and with a window; undefined if the kernel needs none.
  at::Tensor mask;
  at::Tensor window_mask;
  /// Takes each block's fused projection; null if none is returned.
  std::vector<at::Tensor>* projections = nullptr;
};

/// Makes the masks of `pass` for `words` [batch, tokens, width]: bool[batch, 1,
/// tokens, keys], for eager attention in the words' type, as transformers 4.56
/// does (masking_utils.py). Fused attention has none in a layer that sees all
/// earlier tokens of one sequence, which its kernels know as causal; with one,
/// PyTorch's flash kernel is out and the memory-efficient one runs
/// (check_for_attn_mask of ATen/native/transformers/sdp_utils_cpp.h).
void MakeMasks(const LlamaConfig& config, const at::Tensor& words,
               DecoderPass& pass);

/// Self-attention whose query heads share key and value heads in groups.
class GroupedAttention final : public torch::nn::Module {
 public:
  /// layer: from 0; it decides the place in the cache and the window.
  GroupedAttention(const LlamaConfig& config, std::int64_t layer);

  /// x: [batch, tokens, width]; returns the same.
  at::Tensor forward(const at::Tensor& x, const DecoderPass& pass);

 private:
  /// [batch, heads, tokens, head width] each.
  struct States {
    at::Tensor q;
    at::Tensor k;
    at::Tensor v;
    at::Tensor gate;  ///< [batch, tokens, heads × width]; undefined without.
  };

  void AddNorms(std::int64_t inside, std::int64_t shared);

  /// By three products.
  States Project(const at::Tensor& x);
  /// The parts of the one product `fused`.
  States Split(const at::Tensor& fused) const;
  at::Tensor Heads(const at::Tensor& x, std::int64_t heads,
                   const std::shared_ptr<TokenNorm>& norm) const;
  void TurnBoth(States& states, const RotaryTables& rotary) const;
  at::Tensor Turn(const at::Tensor& x, const RotaryTables& rotary) const;
  at::Tensor Attend(const States& states, const DecoderPass& pass);
  at::Tensor AttendEagerly(const States& states, const at::Tensor& mask);
  at::Tensor SoftmaxWithSinks(const at::Tensor& scores) const;

  LlamaConfig config_;
  std::int64_t layer_;
  std::shared_ptr<TokenNorm> q_norm_;
  std::shared_ptr<TokenNorm> k_norm_;
  at::Tensor sinks_;     ///< Undefined without config.sinks.
  Dense qkv_ = nullptr;  ///< If config.fused_qkv, instead of the three.
  Dense q_ = nullptr;
  Dense k_ = nullptr;
  Dense v_ = nullptr;
  Dense o_ = nullptr;
};

}  // namespace foretell::zoo
