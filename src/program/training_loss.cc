#include "src/program/training_loss.h"

#include <ATen/ATen.h>

#include <optional>
#include <utility>

namespace foretell {
namespace {

/// Models of Hugging Face that are given labels return (loss, logits, …), and
/// so do many others: the rest of their results is not trained by.
bool IsScalarLoss(const std::vector<at::Tensor>& outputs) {
  if (outputs.empty() || !outputs.front().defined()) return false;
  const at::Tensor& first = outputs.front();
  return first.dim() == 0 && first.requires_grad() && !first.is_complex();
}

at::Tensor SumOfMeans(const std::vector<at::Tensor>& outputs) {
  at::Tensor loss;
  for (const at::Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    const at::Tensor mean = at::mean(output);
    loss = loss.defined() ? at::add(loss, mean) : mean;
  }
  return loss.defined() ? loss : at::zeros({});
}

}  // namespace

NamedLoss LossOf(ProgramInstance& instance,
                 const std::vector<at::Tensor>& inputs,
                 const std::vector<at::Tensor>& outputs) {
  if (std::optional<NamedLoss> own = instance.Loss(inputs, outputs)) {
    return *std::move(own);
  }
  if (IsScalarLoss(outputs)) return {"first output, a scalar", outputs.front()};
  return {"sum of the outputs' means", SumOfMeans(outputs)};
}

}  // namespace foretell
