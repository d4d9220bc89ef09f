#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Losses of classes: log-softmax and the likelihood of the targets
// (aten/src/ATen/native/LossNLL.cpp, 2.13). The likelihood is one kernel, which
// reduces as well.

namespace foretell::cost {
namespace {

bool SmoothsLabels(const CompositeSteps& steps) {
  return NumberOf(steps.node(), "label_smoothing", 0) > 0;
}

/// The kernel also returns the sum of the weights. Images are made contiguous.
bool NegativeLogLikelihood(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const bool is_image = steps.node().target == "nll_loss2d";
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < steps.num_operands(); ++i) {
    const ValueId id = steps.Operand(i);
    operands.push_back(is_image && i < 2
                           ? steps.View("contiguous", id, steps.ShapeOf(id))
                           : id);
  }
  const ValueId loss =
      steps.Call(is_image ? "nll_loss2d_forward" : "nll_loss_forward",
                 std::move(operands), steps.result().shape);
  steps.AlsoReturns({});
  steps.Return(loss);
  return true;
}

/// Takes [batch, classes, …]; neither matrix nor image, it becomes an image.
bool NegativeLogLikelihoodNd(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < steps.num_operands(); ++i) {
    operands.push_back(steps.Operand(i));
  }
  const Shape shape = steps.ShapeOf(operands[0]);
  const bool is_image = shape.size() > 2;
  if (is_image && shape.size() != 4) {
    const std::int64_t rest = NumElements({shape.begin() + 2, shape.end()});
    operands[0] = Reshape(steps, operands[0], {shape[0], shape[1], 1, rest});
    operands[1] = Reshape(steps, operands[1], {shape[0], 1, rest});
  }
  steps.Return(steps.Call(is_image ? "nll_loss2d" : "nll_loss",
                          std::move(operands), steps.result().shape));
  return true;
}

/// Targets are probabilities, one per class.
ValueId FromProbabilities(CompositeSteps& steps, ValueId log_softmax,
                          std::int64_t classes) {
  ValueId target = steps.Operand(1);
  if (SmoothsLabels(steps)) {
    target = Elementwise(steps, "add", {Elementwise(steps, "mul", {target})});
  }
  ValueId product = Elementwise(steps, "mul", {log_softmax, target});
  if (steps.num_operands() > 2) {
    const ValueId weight = steps.Operand(2);
    Shape shape(steps.RankOf(product), 1);
    shape[static_cast<std::size_t>(classes)] = steps.Size(weight, 0);
    product =
        Elementwise(steps, "mul", {product, steps.View("view", weight, shape)});
  }
  const std::int64_t reduction = steps.node().Int("reduction", 1);
  if (reduction == 0) {
    return Elementwise(steps, "neg",
                       {Reduce(steps, "sum", product, {classes})});
  }
  const ValueId sum =
      Elementwise(steps, "neg", {Reduce(steps, "sum", product)});
  return reduction == 1 ? Elementwise(steps, "div", {sum}) : sum;
}

/// A share of the loss of a uniform distribution beside that of the labels.
ValueId SmoothLabels(CompositeSteps& steps, ValueId log_softmax, ValueId loss,
                     std::int64_t classes) {
  const ValueId uniform =
      Elementwise(steps, "neg", {Reduce(steps, "sum", log_softmax, {classes})});
  const ValueId ignored =
      Elementwise(steps, "eq", {steps.Operand(1)}, DType::kBool);
  ValueId share = steps.InPlace("masked_fill_", {uniform, ignored});
  const std::int64_t reduction = steps.node().Int("reduction", 1);
  if (reduction != 0) share = Reduce(steps, "sum", share);
  if (reduction == 1) {
    const ValueId kept = Elementwise(steps, "bitwise_not", {ignored});
    const ValueId count = steps.Call("sum", {kept}, {}, {}, DType::kI64);
    share = Elementwise(steps, "div", {share, count});
  }
  const ValueId labels = Elementwise(steps, "mul", {loss});
  const ValueId scaled = Elementwise(steps, "mul", {share});
  return Elementwise(steps, "add", {labels, scaled});
}

/// Log-softmax, then the likelihood of the targets. Not understood: smoothed
/// labels with weights, which look up the weight of every label.
bool CrossEntropy(CompositeSteps& steps) {
  if (!steps.TakesTwo() || steps.RankOf(steps.Operand(0)) < 1) return false;
  const ValueId input = steps.Operand(0);
  const Shape shape = steps.ShapeOf(input);
  const std::int64_t classes = shape.size() == 1 ? 0 : 1;
  const ValueId log_softmax = steps.Call("log_softmax", {input}, shape,
                                         {{"dim", std::int64_t{classes}}});
  if (steps.ShapeOf(steps.Operand(1)) == shape) {
    steps.Return(FromProbabilities(steps, log_softmax, classes));
    return true;
  }
  const bool smooths = SmoothsLabels(steps);
  std::vector<ValueId> operands = {log_softmax, steps.Operand(1)};
  if (steps.num_operands() > 2) operands.push_back(steps.Operand(2));
  if (smooths && operands.size() > 2) return false;
  const ValueId loss =
      steps.Call("nll_loss_nd", std::move(operands), steps.result().shape,
                 {{"reduction", steps.node().Int("reduction", 1)}});
  steps.Return(smooths ? SmoothLabels(steps, log_softmax, loss, classes)
                       : loss);
  return true;
}

using enum CompositeCasts;

constexpr Composite kClassificationComposites[] = {
    {"cross_entropy_loss", kInside, &CrossEntropy},
    {"nll_loss", kBefore, &NegativeLogLikelihood},
    {"nll_loss2d", kBefore, &NegativeLogLikelihood},
    {"nll_loss_nd", kInside, &NegativeLogLikelihoodNd},
};

}  // namespace

std::span<const Composite> ClassificationComposites() {
  return kClassificationComposites;
}

}  // namespace foretell::cost
