#include "datasets/zoo/llama_mlp.h"

#include <ATen/Functions.h>
#include <ATen/TensorIndexing.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <tuple>

#include "datasets/zoo/module_scope.h"
#include "src/core/failure.h"
#include "src/program/expert_parallel.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

/// The shares of `count` rows that `parts` experts get from a balanced router.
std::vector<std::int64_t> EqualShares(std::int64_t count, std::int64_t parts) {
  std::vector<std::int64_t> shares(static_cast<std::size_t>(parts),
                                   count / parts);
  std::fill_n(shares.begin(), count % parts, count / parts + 1);
  return shares;
}

/// GraniteMoeParallelExperts: `rows` [rows, in], sorted by expert, times the
/// expert's matrix of `weight` [experts, out, in].
at::Tensor MultiplyByExpert(const at::Tensor& rows, const at::Tensor& weight) {
  const std::vector<at::Tensor> shares =
      rows.split_with_sizes(EqualShares(rows.size(0), weight.size(0)));
  std::vector<at::Tensor> results;
  for (std::int64_t i = 0; i < weight.size(0); ++i) {
    results.push_back(
        at::linear(shares[static_cast<std::size_t>(i)], weight.select(0, i)));
  }
  return at::cat(results, 0);
}

}  // namespace

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
  torch::nn::ModuleList experts;
  const std::int64_t here = ExpertParallelScope::ExpertsHere(config.experts);
  for (std::int64_t i = 0; i < here; ++i) {
    experts_.push_back(
        std::make_shared<DecoderMlp>(config, ExpertInner(config)));
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
  at::Tensor y = ExpertParallelScope::Shares()
                     ? RunSharedExperts(tokens, choice)
                     : RunExperts(tokens, choice);
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
  return {weights.to(tokens.scalar_type()), mask.permute({2, 1, 0}), chosen};
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
  at::Tensor sum = at::zeros_like(tokens);
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
    sum.index_add_(0, token, y.to(tokens.scalar_type()));
  }
  return sum;
}

PackedExperts::PackedExperts(const LlamaConfig& config)
    : config_(config), activate_(FindTokenActivation(config.activation)) {
  if (ExpertParallelScope::Shares()) {
    throw InvalidArgument(
        "experts whose weights are one tensor are not modelled with GPUs that "
        "share experts");
  }
  const std::int64_t inner = ExpertInner(config);
  in_ = register_parameter(
      "input_linear", at::empty({config.experts, 2 * inner, config.width}));
  out_ = register_parameter("output_linear",
                            at::empty({config.experts, config.width, inner}));
  torch::nn::init::normal_(in_);
  torch::nn::init::normal_(out_);
  router_ =
      register_module("router", Dense(config.width, config.experts, false));
}

at::Tensor PackedExperts::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  const at::Tensor tokens = x.view({-1, x.size(-1)});
  const Rows rows = Route(tokens);
  const at::Tensor chosen = tokens.index({rows.tokens});
  at::Tensor y = MultiplyByExpert(chosen, in_);
  const std::vector<at::Tensor> parts = y.chunk(2, -1);
  y = activate_(parts[0]);
  y = y * parts[1];
  y = MultiplyByExpert(y, out_);
  y = y * rows.weights.unsqueeze(1);
  y = at::zeros(tokens.sizes(), y.options()).index_add(0, rows.tokens, y);
  return y.view(x.sizes());
}

/// GraniteMoeTopKGating.
PackedExperts::Rows PackedExperts::Route(const at::Tensor& tokens) {
  const at::Tensor logits = router_->forward(tokens).to(at::kFloat);
  const auto [top, chosen] =
      at::topk(logits, config_.experts_per_token, /*dim=*/1);
  const at::Tensor weights = at::softmax(top, 1).to(tokens.scalar_type());
  // Counts the rows of each expert.
  at::Tensor gates =
      at::zeros({tokens.size(0), config_.experts}, weights.options());
  gates = at::scatter(gates, 1, chosen, 1);
  const at::Tensor counts = gates.to(at::kLong).sum(0);
  const at::Tensor order = std::get<1>(chosen.flatten().sort(0));
  return {at::div(order, config_.experts_per_token, "trunc"),
          weights.flatten().index({order})};
}

}  // namespace foretell::zoo
