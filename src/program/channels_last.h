#pragma once

#include <ATen/core/Tensor.h>

#include "foretell/program.h"

namespace foretell {

/// Stores a tensor of four dimensions channels-last, as
/// `tensor.to(memory_format=torch.channels_last)` does: also one of which only
/// the strides of dimensions of size 1 show the format. Its values stay; other
/// tensors are left alone. On meta it keeps its storage.
void ToChannelsLast(const at::Tensor& tensor);

/// Does so with all parameters and buffers, as `module.to` does.
void ToChannelsLast(const ProgramInstance& instance);

}  // namespace foretell
