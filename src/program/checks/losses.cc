// Losses against classes, and elementwise ones that broadcast less than others.
#include <ATen/ExpandUtils.h>

#include <array>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

std::int64_t ClassesOf(const at::Tensor& input) {
  return input.size(input.dim() == 1 ? 0 : 1);
}

/// nll_loss and nll_loss2d (LossNLL.cpp, LossNLL2d.cpp): classes as i64, of
/// vectors and matrices as u8, too.
void RequireClasses(const at::Tensor& input, const at::Tensor& target,
                    const at::Tensor& weight) {
  RequireFloats(input);
  if (input.dim() == 0) return;
  if (input.dim() > 2) {
    RequireOneOf(target, "a target", {at::kLong});
    Sizes places = input.sizes().vec();
    places.erase(places.begin() + 1);
    RequireShape(target, "a target", places);
  } else {
    RequireOneOf(target, "a target", {at::kLong, at::kByte});
  }
  RequireElements(weight, "a weight", ClassesOf(input));
  RequireTypeOf(weight, "a weight", input, "an input");
}

void CheckNllLoss(const Call& call) {
  RequireClasses(call.Tensor("self"), call.Tensor("target"),
                 call.TensorOrUndefined("weight"));
}

/// A target of the input's shape holds probabilities (LossNLL.cpp).
void CheckCrossEntropy(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& target = call.Tensor("target");
  if (!input.sizes().equals(target.sizes())) return CheckNllLoss(call);
  RequireFloats(input);
  RequireFloats(target);
  if (input.dim() == 0) return;
  RequireElements(call.TensorOrUndefined("weight"), "a weight",
                  ClassesOf(input));
}

/// Sizes of `tensor` without those of one element.
Sizes SqueezedSizes(const at::Tensor& tensor) {
  Sizes sizes = tensor.sizes().vec();
  std::erase(sizes, 1);
  return sizes;
}

/// binary_cross_entropy: CUDA leaves out dimensions of one element and resizes
/// the result (Loss.cpp, cuda/Loss.cu).
void CheckBinaryCrossEntropy(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& target = call.Tensor("target");
  const at::Tensor weight = call.TensorOrUndefined("weight");
  RequireFloats(input);
  RequireTypeOf(target, "a target", input, "an input");
  if (!at::are_expandable(SqueezedSizes(target), SqueezedSizes(input))) {
    RequireBroadcasts(target, "a target", input, "an input");
  }
  RequireExpands(weight, "a weight", input.sizes());
}

/// huber_loss (Loss.cpp).
void CheckHuberLoss(const Call& call) {
  RequireFloats(call.Tensor("self"));
  RequireBroadcasts(call.Tensor("self"), "an input", call.Tensor("target"),
                    "a target");
  if (call.Double("delta", 1) > 0) return;
  throw InvalidArgument("has delta {}, expected more than 0",
                        call.Double("delta", 1));
}

/// multi_margin_loss_shape_check (LossMulti.h): a vector is one sample.
void RequireSamples(const at::Tensor& input) {
  RequireRank(input, "an input", 0, 2);
  if (input.dim() == 0 || input.size(-1) > 0) return;
  throw InvalidArgument("has an input of shape {}, expected classes",
                        Text(input.sizes()));
}

void CheckMultiMargin(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& target = call.Tensor("target");
  const at::Tensor weight = call.TensorOrUndefined("weight");
  RequireFloats(input);
  RequireSamples(input);
  RequireOneOf(target, "a target", {at::kLong});
  RequireRank(target, "a target", 0, 1);
  RequireElements(target, "a target", input.dim() == 2 ? input.size(0) : 1);
  RequireTypeOf(weight, "a weight", input, "an input");
  RequireRank(weight, "a weight", 1, 1);
  RequireElements(weight, "a weight", input.dim() == 0 ? 1 : input.size(-1));
  const double power = call.Has("p") ? call.Scalar("p").toDouble() : 1;
  if (power == 1 || power == 2) return;
  throw InvalidArgument("has power {}, expected 1 or 2", power);
}

void CheckMultilabelMargin(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& target = call.Tensor("target");
  RequireFloats(input);
  RequireSamples(input);
  RequireOneOf(target, "a target", {at::kLong});
  if (input.dim() > 1) return RequireShape(target, "a target", input.sizes());
  RequireRank(target, "a target", 0, 1);
  RequireElements(target, "a target", input.numel());
}

/// ctc_loss_allocate_outputs (LossCTC.cpp); lengths may also be lists.
void CheckCtcLoss(const Call& call) {
  const at::Tensor& input = call.Tensor("log_probs");
  const at::Tensor& targets = call.Tensor("targets");
  RequireOneOf(input, "log_probs", {at::kFloat, at::kDouble});
  RequireRank(input, "log_probs", 2, 3);
  RequireRank(targets, "targets", 1, 2);
  const std::int64_t batch = input.dim() == 3 ? input.size(1) : 1;
  for (const std::string_view name : {"input_lengths", "target_lengths"}) {
    if (!call.IsTensor(name)) continue;
    const at::Tensor& lengths = call.Tensor(name);
    RequireElements(lengths, name, batch);
    if (at::isIntegralType(lengths.scalar_type(), /*includeBool=*/false)) {
      continue;
    }
    throw InvalidArgument("has {} of type {}, expected integers", name,
                          TypeText(lengths));
  }
  if (input.dim() == 3 && targets.dim() == 2) {
    RequireShape(targets, "targets", {batch, targets.size(1)});
  }
  const std::int64_t blank = call.Int("blank", 0);
  if (blank >= 0 && blank < input.size(-1)) return;
  throw InvalidArgument("has blank {}, there are {} classes", blank,
                        input.size(-1));
}

constexpr std::array kLossRows = std::to_array<OperandRow>({
    {"binary_cross_entropy", &CheckBinaryCrossEntropy},
    {"cross_entropy_loss", &CheckCrossEntropy},
    {"ctc_loss", &CheckCtcLoss},
    {"huber_loss", &CheckHuberLoss},
    {"multi_margin_loss", &CheckMultiMargin},
    {"multilabel_margin_loss", &CheckMultilabelMargin},
    {"nll_loss", &CheckNllLoss},
    {"nll_loss2d", &CheckNllLoss},
    {"nll_loss_nd", &CheckNllLoss},
});

}  // namespace

std::span<const OperandRow> LossRows() { return kLossRows; }

}  // namespace foretell::checks
