#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace foretell {

/// Sum of the means of all floating-point `outputs` that depend on a parameter;
/// a zero without history when there is none. Stands for any cheap scalar loss.
at::Tensor ScalarLoss(const std::vector<at::Tensor>& outputs);

}  // namespace foretell
