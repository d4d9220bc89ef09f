#include "datasets/zoo/llama_mlp.h"

#include <ATen/Functions.h>
#include <ATen/TensorIndexing.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <tuple>

#include "datasets/zoo/llama_experts.h"
#include "datasets/zoo/module_scope.h"
#include "src/program/expert_parallel.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {

std::shared_ptr<FeedForwardPart> MakeFeedForwardPart(const LlamaConfig& config,
                                                     std::int64_t layer) {
  if (!config.HasExperts(layer)) {
    return std::make_shared<DecoderMlp>(config, config.inner);
  }
  if (config.moe == "granite") return std::make_shared<GraniteExperts>(config);
  if (config.moe == "gpt_oss") return std::make_shared<GptOssExperts>(config);
  if (config.moe == "llama4") return std::make_shared<Llama4Experts>(config);
  return std::make_shared<RoutedExperts>(config);
}

std::int64_t ExpertInner(const LlamaConfig& config) {
  return config.expert_inner > 0 ? config.expert_inner : config.inner;
}

DecoderMlp::DecoderMlp(const LlamaConfig& config, std::int64_t inner)
    : activate_(FindTokenActivation(config.activation)) {
  const std::int64_t width = config.width;
  const bool bias = config.mlp_bias;
  const LayerNames& names = config.Names();
  if (config.fused_gate_up) {
    gate_up_ = register_module("gate_up_proj", Dense(width, 2 * inner, bias));
  } else {
    if (config.mlp_gate) {
      gate_ = register_module("gate_proj", Dense(width, inner, bias));
    }
    up_ = register_module(std::string(names.up), Dense(width, inner, bias));
  }
  down_ = register_module(std::string(names.down), Dense(inner, width, bias));
}

at::Tensor DecoderMlp::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  return down_->forward(Inner(x));
}

at::Tensor DecoderMlp::Inner(const at::Tensor& x) {
  if (gate_up_) {
    const std::vector<at::Tensor> parts = gate_up_->forward(x).chunk(2, -1);
    return parts[1] * activate_(parts[0]);
  }
  at::Tensor y = (gate_ ? gate_ : up_)->forward(x);
  if (gate_ && FusedKernelScope::Takes(FusedKernel::kSwiGlu)) {
    return liger::SwiGlu(y, up_->forward(x));
  }
  y = activate_(y);
  if (!gate_) return y;
  const at::Tensor up = up_->forward(x);
  return y * up;
}

RoutedExperts::RoutedExperts(const LlamaConfig& config) : config_(config) {
  router_ = register_module("gate", Dense(config.width, config.experts, false));
  if (config.moe == "glm4") {
    correction_ =
        register_buffer("e_score_correction_bias", at::zeros({config.experts}));
  }
  torch::nn::ModuleList experts;
  const std::int64_t here = ExpertParallelScope::ExpertsHere(config.experts);
  for (std::int64_t i = 0; i < here; ++i) {
    experts_.push_back(
        std::make_shared<DecoderMlp>(config, ExpertInner(config)));
    experts->push_back(experts_.back());
  }
  register_module("experts", experts);
  if (config.shared_inner == 0) return;
  const bool is_gated = config.moe == "mixtral";
  shared_ = register_module(
      is_gated ? "shared_expert" : "shared_experts",
      std::make_shared<DecoderMlp>(config, config.shared_inner));
  if (!is_gated) return;
  shared_gate_ =
      register_module("shared_expert_gate", Dense(config.width, 1, false));
}

at::Tensor RoutedExperts::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  const at::Tensor tokens = x.view({-1, x.size(-1)});
  const Choice choice =
      config_.moe == "glm4" ? RouteBySigmoid(tokens) : Route(tokens);
  at::Tensor y = ExpertParallelScope::Shares()
                     ? RunSharedExperts(tokens, choice)
                     : RunExperts(tokens, choice);
  if (shared_) {
    at::Tensor shared = shared_->forward(tokens);
    if (shared_gate_) {
      shared = at::sigmoid(shared_gate_->forward(tokens)) * shared;
    }
    y = y + shared;
  }
  return y.view(x.sizes());
}

/// Glm4MoeTopkRouter with one group, which all published networks have.
RoutedExperts::Choice RoutedExperts::RouteBySigmoid(const at::Tensor& tokens) {
  const at::Tensor states = tokens.to(at::kFloat);
  const at::Tensor matrix = router_->weight.to(at::kFloat);
  const at::Tensor scores = at::sigmoid(at::linear(states, matrix));
  at::Tensor chosen;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor corrected = scores + correction_;
    chosen = std::get<1>(at::topk(corrected, config_.experts_per_token, -1));
  }
  at::Tensor weights = scores.gather(1, chosen);
  if (config_.norm_topk) {
    weights.div_(weights.sum(-1, /*keepdim=*/true) + 1e-20);
  }
  weights = weights * 1.0;
  return {weights, MaskOf(chosen), chosen};
}

/// i64[experts, experts per token, tokens]: one_hot, as it runs on CUDA.
at::Tensor RoutedExperts::MaskOf(const at::Tensor& chosen) const {
  at::Tensor mask = at::zeros({chosen.size(0), chosen.size(1), config_.experts},
                              chosen.options());
  mask.scatter_(-1, chosen.unsqueeze(-1), 1);
  return mask.permute({2, 1, 0});
}

RoutedExperts::Choice RoutedExperts::Route(const at::Tensor& tokens) {
  at::Tensor weights = at::softmax(router_->forward(tokens), 1, at::kFloat);
  at::Tensor chosen;
  std::tie(weights, chosen) =
      at::topk(weights, config_.experts_per_token, /*dim=*/-1);
  if (config_.norm_topk) weights.div_(weights.sum(-1, /*keepdim=*/true));
  return {weights.to(tokens.scalar_type()), MaskOf(chosen), chosen};
}

at::Tensor RoutedExperts::RunSharedExperts(const at::Tensor& tokens,
                                           const Choice& choice) {
  const at::Tensor order = at::argsort(choice.chosen.flatten());
  const at::Tensor token = at::div(order, config_.experts_per_token, "floor");
  const at::Tensor rows =
      ExpertParallelScope::Dispatch(tokens.index({token}), config_.experts);
  std::vector<at::Tensor> results = rows.split_with_sizes(
      EqualShares(rows.size(0), static_cast<std::int64_t>(experts_.size())));
  for (std::size_t i = 0; i < experts_.size(); ++i) {
    results[i] = experts_[i]->forward(results[i]);
  }
  at::Tensor y = ExpertParallelScope::Combine(at::cat(results), order.size(0));
  y = y * choice.weights.flatten().index({order}).unsqueeze(-1);
  return at::zeros_like(tokens).index_add(0, token, y);
}

at::Tensor RoutedExperts::RunExperts(const at::Tensor& tokens,
                                     const Choice& choice) {
  using at::indexing::Slice;
  const at::Tensor& weights = choice.weights;
  const std::int64_t choices = weights.numel();
  const std::int64_t running = std::min(config_.experts, choices);
  at::Tensor sum = at::zeros_like(tokens, weights.scalar_type());
  at::Tensor state;  // Both live until the next expert's exist, as in Python.
  at::Tensor y;
  const std::vector<std::int64_t> shares = EqualShares(choices, running);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    // torch.where of the expert's mask: places and tokens.
    const at::Tensor found =
        at::zeros({2, shares[i]}, tokens.options().dtype(at::kLong));
    const at::Tensor token = found.select(0, 1);
    state = tokens.unsqueeze(0).index({Slice(), token}).squeeze(0);
    y = experts_[i]->forward(state);
    y = y * weights.unsqueeze(-1).index({token, found.select(0, 0)});
    sum.index_add_(0, token, y.to(sum.scalar_type()));
  }
  return sum.to(tokens.scalar_type());
}

}  // namespace foretell::zoo
