#include "training/fit/huber.h"

#include <ATen/ATen.h>

namespace foretell::training {

at::Tensor HuberSum(const at::Tensor& output, const at::Tensor& target,
                    const at::Tensor& weights, double delta) {
  const at::Tensor loss =
      at::huber_loss(output, target, at::Reduction::None, delta);
  return (loss * weights).sum();
}

}  // namespace foretell::training
