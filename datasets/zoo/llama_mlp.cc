#include "datasets/zoo/llama_mlp.h"

#include <ATen/Functions.h>
#include <ATen/TensorIndexing.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <tuple>

#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {

DecoderMlp::DecoderMlp(const LlamaConfig& config, std::int64_t inner)
    : activate_(FindTokenActivation(config.activation)) {
  const std::int64_t width = config.width;
  const bool bias = config.mlp_bias;
  if (config.fused_gate_up) {
    gate_up_ = register_module("gate_up_proj", Dense(width, 2 * inner, bias));
  } else {
    if (config.mlp_gate) {
      gate_ = register_module("gate_proj", Dense(width, inner, bias));
    }
    up_ = register_module("up_proj", Dense(width, inner, bias));
  }
  down_ = register_module("down_proj", Dense(inner, width, bias));
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
  y = activate_(y);
  if (!gate_) return y;
  const at::Tensor up = up_->forward(x);
  return y * up;
}

RoutedExperts::RoutedExperts(const LlamaConfig& config) : config_(config) {
  const std::int64_t inner =
      config.expert_inner > 0 ? config.expert_inner : config.inner;
  router_ = register_module("gate", Dense(config.width, config.experts, false));
  torch::nn::ModuleList experts;
  for (std::int64_t i = 0; i < config.experts; ++i) {
    experts_.push_back(std::make_shared<DecoderMlp>(config, inner));
    experts->push_back(experts_.back());
  }
  register_module("experts", experts);
  if (config.shared_inner == 0) return;
  shared_ = register_module("shared_expert", std::make_shared<DecoderMlp>(
                                                 config, config.shared_inner));
  shared_gate_ =
      register_module("shared_expert_gate", Dense(config.width, 1, false));
}

at::Tensor RoutedExperts::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  const at::Tensor tokens = x.view({-1, x.size(-1)});
  const Choice choice = Route(tokens);
  at::Tensor y = RunExperts(tokens, choice.weights);
  if (shared_) {
    at::Tensor shared = shared_->forward(tokens);
    shared = at::sigmoid(shared_gate_->forward(tokens)) * shared;
    y = y + shared;
  }
  return y.view(x.sizes());
}

RoutedExperts::Choice RoutedExperts::Route(const at::Tensor& tokens) {
  at::Tensor weights = at::softmax(router_->forward(tokens), 1, at::kFloat);
  at::Tensor chosen;
  std::tie(weights, chosen) =
      at::topk(weights, config_.experts_per_token, /*dim=*/-1);
  if (config_.norm_topk) weights.div_(weights.sum(-1, /*keepdim=*/true));
  // one_hot, as it runs on CUDA.
  at::Tensor mask =
      at::zeros({tokens.size(0), config_.experts_per_token, config_.experts},
                chosen.options());
  mask.scatter_(-1, chosen.unsqueeze(-1), 1);
  return {weights.to(tokens.scalar_type()), mask.permute({2, 1, 0})};
}

at::Tensor RoutedExperts::RunExperts(const at::Tensor& tokens,
                                     const at::Tensor& weights) {
  using at::indexing::Slice;
  const std::int64_t choices = weights.numel();
  const std::int64_t running = std::min(config_.experts, choices);
  at::Tensor sum = at::zeros_like(tokens);
  at::Tensor state;  // Both live until the next expert's exist, as in Python.
  at::Tensor y;
  for (std::int64_t i = 0; i < running; ++i) {
    const std::int64_t count =
        choices / running + (i < choices % running ? 1 : 0);
    // torch.where of the expert's mask: places and tokens.
    const at::Tensor found =
        at::zeros({2, count}, tokens.options().dtype(at::kLong));
    const at::Tensor token = found.select(0, 1);
    state = tokens.unsqueeze(0).index({Slice(), token}).squeeze(0);
    y = experts_[static_cast<std::size_t>(i)]->forward(state);
    y = y * weights.unsqueeze(-1).index({token, found.select(0, 0)});
    sum.index_add_(0, token, y.to(tokens.scalar_type()));
  }
  return sum;
}

}  // namespace foretell::zoo
