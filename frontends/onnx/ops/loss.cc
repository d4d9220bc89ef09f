#include <ATen/ATen.h>

#include <optional>
#include <string>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

/// Without the attribute every label counts; this is not a valid label.
constexpr std::int64_t kIgnoreNothing = -100;

std::int64_t LossReduction(const NodeContext& ctx) {
  const std::string name = ctx.StringAttribute("reduction", "mean");
  if (name == "none") return at::Reduction::None;
  if (name == "mean") return at::Reduction::Mean;
  if (name == "sum") return at::Reduction::Sum;
  FailAttribute(ctx, "reduction", name);
}

/// Inputs and attributes that both losses have.
struct LossArguments {
  at::Tensor labels;
  std::optional<at::Tensor> weight;
  std::int64_t reduction = at::Reduction::Mean;
  std::int64_t ignore_index = kIgnoreNothing;
};

LossArguments ArgumentsOf(NodeContext& ctx) {
  LossArguments arguments;
  arguments.labels = CastTo(ctx.Tensor(1), at::kLong);
  if (ctx.Has(2)) arguments.weight = ctx.Tensor(2);
  arguments.reduction = LossReduction(ctx);
  arguments.ignore_index = ctx.IntAttribute("ignore_index", kIgnoreNothing);
  return arguments;
}

at::Tensor NegativeLogLikelihood(const at::Tensor& log_probabilities,
                                 const LossArguments& a) {
  return at::nll_loss_nd(log_probabilities, a.labels, a.weight, a.reduction,
                         a.ignore_index);
}

void LowerNegativeLogLikelihoodLoss(NodeContext& ctx) {
  ctx.Set(0, NegativeLogLikelihood(ctx.Tensor(0), ArgumentsOf(ctx)));
}

void LowerSoftmaxCrossEntropyLoss(NodeContext& ctx) {
  const at::Tensor scores = ctx.Tensor(0);
  const LossArguments a = ArgumentsOf(ctx);
  if (!ctx.Wants(1)) {
    ctx.Set(0, at::cross_entropy_loss(scores, a.labels, a.weight, a.reduction,
                                      a.ignore_index));
    return;
  }
  const at::Tensor log_probabilities = at::log_softmax(scores, 1);
  ctx.Set(0, NegativeLogLikelihood(log_probabilities, a));
  ctx.Set(1, log_probabilities);
}

constexpr OnnxOperator kLossOperators[] = {
    {"NegativeLogLikelihoodLoss", {12, kAny}, &LowerNegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", {12, kAny}, &LowerSoftmaxCrossEntropyLoss},
};

}  // namespace

std::span<const OnnxOperator> LossOperators() { return kLossOperators; }

}  // namespace foretell::onnx
