#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Losses as the operators that they are made of (aten/src/ATen/native/Loss.cpp,
// 2.13). mse_loss, smooth_l1_loss, huber_loss and binary_cross_entropy have a
// kernel of their own that writes every element, and reduce after it.

namespace foretell::cost {
namespace {

/// Reduced into the tensor that held the elements.
ValueId CopyReduced(CompositeSteps& steps, ValueId loss) {
  const ValueId reduced = ReduceLoss(steps, loss);
  if (reduced == loss) return loss;
  return steps.Call("clone", {reduced}, steps.ShapeOf(reduced));
}

/// One element-wise kernel of the operator's own, then the reduction. Without
/// one the operator is that kernel.
bool ElementwiseThenReduced(CompositeSteps& steps) {
  if (!steps.TakesTwo() || steps.node().Int("reduction", 1) == 0) return false;
  const ValueId loss =
      Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)});
  steps.Return(ReduceLoss(steps, loss));
  return true;
}

bool AbsoluteError(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const ValueId difference =
      Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)});
  steps.Return(ReduceLoss(steps, Elementwise(steps, "abs", {difference})));
  return true;
}

/// Weights come after; the kernel of the operator itself is element-wise.
bool BinaryCrossEntropy(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const bool is_plain =
      steps.num_operands() == 2 && steps.node().Int("reduction", 1) == 0;
  if (is_plain) return false;
  ValueId loss =
      Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)});
  if (steps.num_operands() > 2) {
    loss = steps.InPlace("mul_", {loss, steps.Operand(2)});
  }
  steps.Return(CopyReduced(steps, loss));
  return true;
}

/// (1 - target) * input - weight * log_sigmoid(input). Of two optional weights
/// one alone counts as `weight`: a trace does not say which it was.
bool BinaryCrossEntropyWithLogits(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const ValueId input = steps.Operand(0);
  const ValueId target = steps.Operand(1);
  const Shape shape = steps.ShapeOf(input);
  ValueId log_sigmoid = steps.Call("log_sigmoid", {input}, shape);
  if (steps.num_operands() > 3) {
    const ValueId less = Elementwise(steps, "sub", {steps.Operand(3)});
    const ValueId product = Elementwise(steps, "mul", {less, target});
    log_sigmoid =
        steps.InPlace("mul_", {steps.InPlace("add_", {product}), log_sigmoid});
  }
  const ValueId ones = steps.Call("ones_like", {target}, steps.ShapeOf(target));
  const ValueId rest = steps.InPlace("sub_", {ones, target});
  ValueId loss = steps.InPlace(
      "sub_", {steps.InPlace("mul_", {rest, input}), log_sigmoid});
  if (steps.num_operands() > 2) {
    loss = steps.InPlace("mul_", {loss, steps.Operand(2)});
  }
  steps.Return(ReduceLoss(steps, loss));
  return true;
}

bool Divergence(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const ValueId input = steps.Operand(0);
  const ValueId target = steps.Operand(1);
  ValueId loss;
  if (FlagOf(steps.node(), "log_target")) {
    const ValueId difference = Elementwise(steps, "sub", {target, input});
    const ValueId power = Elementwise(steps, "exp", {target});
    loss = Elementwise(steps, "mul", {power, difference});
  } else {
    const ValueId product = Elementwise(steps, "mul", {target, input});
    const ValueId entropy = Elementwise(steps, "xlogy", {target});
    loss = Elementwise(steps, "sub", {entropy, product});
  }
  steps.Return(ReduceLoss(steps, loss));
  return true;
}

/// `where` a comparison of `target` holds, `value`, else zero.
ValueId Choose(CompositeSteps& steps, ValueId target, ValueId value,
               ValueId zeros) {
  const ValueId holds = Elementwise(steps, "ne", {target}, DType::kBool);
  const Shape shape = Broadcast(steps.ShapeOf(holds), steps.ShapeOf(value));
  return steps.Call("where", {holds, value, zeros}, shape, {},
                    steps.TypeOf(value));
}

/// What is chosen by the sign of the target, added up.
ValueId ChooseBySign(CompositeSteps& steps, ValueId target, ValueId positive,
                     ValueId negative, ValueId zeros) {
  const ValueId first = Choose(steps, target, positive, zeros);
  const ValueId second = Choose(steps, target, negative, zeros);
  return Elementwise(steps, "add", {first, second});
}

/// margin - x, at least 0.
ValueId Hinge(CompositeSteps& steps, ValueId x) {
  const ValueId margin = steps.Call("full_like", {x}, steps.ShapeOf(x));
  return steps.InPlace("clamp_min_", {steps.InPlace("sub_", {margin, x})});
}

bool HingeEmbedding(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const ValueId x = steps.Operand(0);
  const ValueId target = steps.Operand(1);
  const ValueId zeros = steps.Call("zeros_like", {x}, steps.ShapeOf(x));
  const ValueId margin = Hinge(steps, x);
  steps.Return(
      ReduceLoss(steps, ChooseBySign(steps, target, margin, x, zeros)));
  return true;
}

bool MarginRanking(CompositeSteps& steps) {
  if (steps.num_operands() < 3) return false;
  const ValueId difference =
      Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)});
  const ValueId negated = Elementwise(steps, "neg", {steps.Operand(2)});
  const ValueId product = Elementwise(steps, "mul", {negated, difference});
  const ValueId shifted = Elementwise(steps, "add", {product});
  steps.Return(ReduceLoss(steps, steps.InPlace("clamp_min_", {shifted})));
  return true;
}

bool SoftMargin(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const ValueId negated = Elementwise(steps, "neg", {steps.Operand(0)});
  const ValueId product = steps.InPlace("mul_", {negated, steps.Operand(1)});
  const ValueId loss =
      steps.InPlace("log1p_", {steps.InPlace("exp_", {product})});
  steps.Return(CopyReduced(steps, loss));
  return true;
}

bool TripletMargin(CompositeSteps& steps) {
  if (steps.num_operands() < 3) return false;
  const ValueId anchor = steps.Operand(0);
  const auto distance = [&](ValueId from, std::size_t to) {
    const ValueId difference =
        Elementwise(steps, "sub", {from, steps.Operand(to)});
    return Reduce(steps, "norm", Elementwise(steps, "add", {difference}), {-1});
  };
  const ValueId positive = distance(anchor, 1);
  ValueId negative = distance(anchor, 2);
  if (FlagOf(steps.node(), "swap")) {
    const ValueId swapped = distance(steps.Operand(1), 2);
    negative = Elementwise(steps, "minimum", {negative, swapped});
  }
  const ValueId shifted = Elementwise(steps, "add", {positive});
  const ValueId difference = Elementwise(steps, "sub", {shifted, negative});
  steps.Return(
      ReduceLoss(steps, Elementwise(steps, "clamp_min", {difference})));
  return true;
}

bool CosineEmbedding(CompositeSteps& steps) {
  if (steps.num_operands() < 3) return false;
  const ValueId x = steps.Operand(0);
  const ValueId y = steps.Operand(1);
  const ValueId target = steps.Operand(2);
  const auto dot = [&](ValueId a, ValueId b) {
    return Reduce(steps, "sum", Elementwise(steps, "mul", {a, b}), {-1});
  };
  const ValueId product = dot(x, y);
  const ValueId first = Elementwise(steps, "add", {dot(x, x)});
  const ValueId second = Elementwise(steps, "add", {dot(y, y)});
  const ValueId size =
      steps.InPlace("sqrt_", {Elementwise(steps, "mul", {first, second})});
  const ValueId cosine = Elementwise(steps, "div", {product, size});
  const Shape shape = steps.ShapeOf(cosine);
  const ValueId zeros = steps.Call("zeros_like", {cosine}, shape);
  const ValueId ones = steps.Call("ones_like", {cosine}, shape);
  const ValueId positive = steps.InPlace("sub_", {ones, cosine});
  const ValueId negative =
      steps.InPlace("clamp_min_", {Elementwise(steps, "sub", {cosine})});
  steps.Return(ReduceLoss(
      steps, ChooseBySign(steps, target, positive, negative, zeros)));
  return true;
}

/// Stirling's approximation of the term that `full` asks for.
ValueId AddStirling(CompositeSteps& steps, ValueId loss, ValueId target) {
  const auto log = [&](ValueId x) { return Elementwise(steps, "log", {x}); };
  const ValueId half =
      Elementwise(steps, "mul", {log(Elementwise(steps, "mul", {target}))});
  const ValueId term = Elementwise(steps, "mul", {target, log(target)});
  const ValueId less = Elementwise(steps, "sub", {term, target});
  const ValueId all = Elementwise(steps, "add", {less, half});
  const ValueId small = Elementwise(steps, "le", {target}, DType::kBool);
  const ValueId copy = steps.Call("clone", {all}, steps.ShapeOf(all));
  return steps.InPlace("add_",
                       {loss, steps.InPlace("masked_fill_", {copy, small})});
}

bool Poisson(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const ValueId input = steps.Operand(0);
  const ValueId target = steps.Operand(1);
  ValueId loss;
  if (FlagOf(steps.node(), "log_input", true)) {
    const ValueId product = Elementwise(steps, "mul", {target, input});
    loss = Elementwise(steps, "sub",
                       {Elementwise(steps, "exp", {input}), product});
  } else {
    const ValueId log =
        Elementwise(steps, "log", {Elementwise(steps, "add", {input})});
    const ValueId product = Elementwise(steps, "mul", {target, log});
    loss = Elementwise(steps, "sub", {input, product});
  }
  if (FlagOf(steps.node(), "full")) loss = AddStirling(steps, loss, target);
  steps.Return(ReduceLoss(steps, loss));
  return true;
}

using enum CompositeCasts;

constexpr Composite kLossComposites[] = {
    {"binary_cross_entropy", kBefore, &BinaryCrossEntropy},
    {"binary_cross_entropy_with_logits", kBefore,
     &BinaryCrossEntropyWithLogits},
    {"cosine_embedding_loss", kBefore, &CosineEmbedding},
    {"hinge_embedding_loss", kBefore, &HingeEmbedding},
    {"huber_loss", kBefore, &ElementwiseThenReduced},
    {"kl_div", kBefore, &Divergence},
    {"l1_loss", kBefore, &AbsoluteError},
    {"margin_ranking_loss", kBefore, &MarginRanking},
    {"mse_loss", kBefore, &ElementwiseThenReduced},
    {"poisson_nll_loss", kBefore, &Poisson},
    {"smooth_l1_loss", kBefore, &ElementwiseThenReduced},
    {"soft_margin_loss", kBefore, &SoftMargin},
    {"triplet_margin_loss", kBefore, &TripletMargin},
};

}  // namespace

std::span<const Composite> LossComposites() { return kLossComposites; }

}  // namespace foretell::cost
