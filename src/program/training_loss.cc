#include "src/program/training_loss.h"

#include <ATen/ops/add.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/zeros.h>

namespace foretell {

at::Tensor ScalarLoss(const std::vector<at::Tensor>& outputs) {
  at::Tensor loss;
  for (const at::Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    const at::Tensor mean = at::mean(output);
    loss = loss.defined() ? at::add(loss, mean) : mean;
  }
  return loss.defined() ? loss : at::zeros({});
}

}  // namespace foretell
