#include "training/workers/communicator.h"

#include <ATen/ATen.h>

namespace foretell::training {

void Communicator::SumInPlace(at::Tensor& /*tensor*/) {}
void Communicator::TakeFromFirst(at::Tensor& /*tensor*/) {}

bool Communicator::AsFirst(bool value) {
  at::Tensor said = at::full({1}, value ? 1.0 : 0.0);
  TakeFromFirst(said);
  return said.item<double>() != 0;
}

}  // namespace foretell::training
