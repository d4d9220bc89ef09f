#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "datasets/zoo/llama_config.h"
#include "datasets/zoo/token_norm.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// A gated delta net (Yang et al. 2024), which Qwen3-Next and Qwen3.5 have in
/// most layers instead of attention: with the operators of transformers 4.57
/// where flash-linear-attention and causal-conv1d are not installed
/// (modeling_qwen3_next.py). Qwen3.5's differs in its projections only.
///
/// It has no cache here: Check of LlamaConfig refuses other phases.
class GatedDeltaNet final : public torch::nn::Module {
 public:
  explicit GatedDeltaNet(const LlamaConfig& config);

  /// x: [batch, tokens, width]; returns the same.
  at::Tensor forward(const at::Tensor& x);

 private:
  /// What the layer reads of its input.
  struct Parts {
    at::Tensor mixed;  ///< Queries, keys and values, [batch, tokens, …].
    at::Tensor gate;   ///< [batch, tokens, value heads, value width].
    at::Tensor b;      ///< [batch, tokens, value heads].
    at::Tensor a;
  };

  Parts Project(const at::Tensor& x);
  Parts ProjectApart(const at::Tensor& x);
  at::Tensor Convolve(const at::Tensor& mixed);
  at::Tensor GatedNorm(const at::Tensor& x, const at::Tensor& gate) const;

  LlamaConfig config_;
  Dense qkvz_ = nullptr;  ///< Queries, keys, values and gates; without gates
  Dense ba_ = nullptr;    ///< if config.linear_split, which has b_ and a_.
  Dense z_ = nullptr;     ///< If config.linear_split, as the next two.
  Dense b_ = nullptr;
  Dense a_ = nullptr;
  at::Tensor kernel_;
  at::Tensor rates_;
  at::Tensor steps_;
  at::Tensor norm_;
  Dense out_ = nullptr;
};

}  // namespace foretell::zoo
