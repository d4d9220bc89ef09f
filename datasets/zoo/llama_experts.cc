// Experts of transformers whose weights are one tensor for all of them:
// modeling_{granitemoe,gpt_oss,llama4}.py.

#include "datasets/zoo/llama_experts.h"

#include <ATen/Functions.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "datasets/zoo/module_scope.h"
#include "src/core/failure.h"
#include "src/program/expert_parallel.h"

namespace foretell::zoo {
namespace {

void RequireOwnExperts() {
  if (!ExpertParallelScope::Shares()) return;
  throw InvalidArgument(
      "experts whose weights are one tensor are not modelled with GPUs that "
      "share experts");
}

at::Tensor NormalWeights(at::IntArrayRef sizes) {
  const at::Tensor weights = at::empty(sizes);
  torch::nn::init::normal_(weights);
  return weights;
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

std::vector<std::int64_t> EqualShares(std::int64_t count, std::int64_t parts) {
  std::vector<std::int64_t> shares(static_cast<std::size_t>(parts),
                                   count / parts);
  std::fill_n(shares.begin(), count % parts, count / parts + 1);
  return shares;
}

GraniteExperts::GraniteExperts(const LlamaConfig& config)
    : config_(config), activate_(FindTokenActivation(config.activation)) {
  RequireOwnExperts();
  const std::int64_t inner = ExpertInner(config);
  in_ = register_parameter(
      "input_linear", NormalWeights({config.experts, 2 * inner, config.width}));
  out_ = register_parameter(
      "output_linear", NormalWeights({config.experts, config.width, inner}));
  router_ =
      register_module("router", Dense(config.width, config.experts, false));
}

at::Tensor GraniteExperts::forward(const at::Tensor& x) {
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
GraniteExperts::Rows GraniteExperts::Route(const at::Tensor& tokens) {
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

GptOssExperts::GptOssExperts(const LlamaConfig& config) : config_(config) {
  RequireOwnExperts();
  const std::int64_t inner = ExpertInner(config);
  const std::int64_t count = config.experts;
  in_ = register_parameter("gate_up_proj",
                           NormalWeights({count, config.width, 2 * inner}));
  in_bias_ = register_parameter("gate_up_proj_bias",
                                NormalWeights({count, 2 * inner}));
  out_ = register_parameter("down_proj",
                            NormalWeights({count, inner, config.width}));
  out_bias_ = register_parameter("down_proj_bias",
                                 NormalWeights({count, config.width}));
  router_ = register_module("router", Dense(config.width, count, true));
}

at::Tensor GptOssExperts::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  const at::Tensor tokens = x.reshape({-1, x.size(-1)});
  const at::Tensor logits = router_->forward(tokens);
  auto [top, chosen] = at::topk(logits, config_.experts_per_token, /*dim=*/-1);
  top = at::softmax(top, 1);
  const at::Tensor weights = at::zeros_like(logits).scatter_(1, chosen, top);
  const std::int64_t choices = chosen.numel();
  const std::int64_t running = std::min(config_.experts, choices);
  at::Tensor sum = at::zeros_like(tokens);
  at::Tensor y;  // Lives until the next expert's exists, as in Python.
  const at::TensorOptions numbers = tokens.options().dtype(at::kLong);
  const std::vector<std::int64_t> shares = EqualShares(choices, running);
  for (std::int64_t i = 0; i < running; ++i) {
    const std::int64_t share = shares[static_cast<std::size_t>(i)];
    // torch.where of the expert's mask: places and tokens.
    const at::Tensor token = at::zeros({2, share}, numbers).select(0, 1);
    y = RunExpert(tokens.index({token}), i);
    const at::Tensor weight = weights.select(1, i).index({token});
    y = y * weight.unsqueeze(-1);
    sum.index_add_(0, token, y);
  }
  return sum.view(x.sizes());
}

at::Tensor GptOssExperts::RunExpert(const at::Tensor& rows,
                                    std::int64_t expert) const {
  constexpr double kSlope = 1.702;
  constexpr double kLimit = 7;
  const at::Tensor product = at::matmul(rows, in_.select(0, expert));
  const at::Tensor both = product + in_bias_.select(0, expert);
  const std::int64_t width = both.size(-1);
  at::Tensor gate = both.slice(-1, 0, width, 2);
  at::Tensor up = both.slice(-1, 1, width, 2);
  gate = at::clamp(gate, std::nullopt, kLimit);
  up = at::clamp(up, -kLimit, kLimit);
  at::Tensor y = gate * kSlope;
  y = gate * at::sigmoid(y);
  y = (up + 1) * y;
  y = at::matmul(y, out_.select(0, expert));
  return y + out_bias_.select(0, expert);
}

Llama4Experts::Llama4Experts(const LlamaConfig& config)
    : config_(config), activate_(FindTokenActivation(config.activation)) {
  RequireOwnExperts();
  const std::int64_t inner = ExpertInner(config);
  in_ = register_parameter(
      "gate_up_proj", NormalWeights({config.experts, config.width, 2 * inner}));
  out_ = register_parameter(
      "down_proj", NormalWeights({config.experts, inner, config.width}));
  router_ =
      register_module("router", Dense(config.width, config.experts, false));
  shared_ = register_module("shared_expert",
                            std::make_shared<DecoderMlp>(config, inner));
}

at::Tensor Llama4Experts::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  const at::Tensor tokens = x.reshape({-1, x.size(-1)});
  const at::Tensor logits = router_->forward(tokens);
  const auto [top, chosen] =
      at::topk(logits, config_.experts_per_token, /*dim=*/1);
  at::Tensor scores =
      at::full_like(logits, -std::numeric_limits<double>::infinity())
          .scatter_(1, chosen, top);
  scores = at::sigmoid(scores.to(at::kFloat)).to(tokens.scalar_type());
  at::Tensor rows = tokens.repeat({config_.experts, 1});
  rows = rows * scores.transpose(0, 1).reshape({-1, 1});
  rows = rows.view({config_.experts, -1, x.size(-1)});
  const std::vector<at::Tensor> parts = at::bmm(rows, in_).chunk(2, -1);
  at::Tensor y = parts[1] * activate_(parts[0]);
  y = at::bmm(y, out_);
  at::Tensor sum = shared_->forward(tokens);
  sum.add_(y.sum(0));
  return sum.view(x.sizes());
}

}  // namespace foretell::zoo
