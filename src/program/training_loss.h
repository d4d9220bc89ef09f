#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "foretell/program.h"

namespace foretell {

/// What a training step of `instance` goes backward from: its own loss where it
/// has one; its first output where that is a real scalar that requires a
/// gradient; else the sum of the means of all `outputs` that do, which stands
/// for any cheap loss and is a zero without history if no output does.
NamedLoss LossOf(ProgramInstance& instance,
                 const std::vector<at::Tensor>& inputs,
                 const std::vector<at::Tensor>& outputs);

}  // namespace foretell
