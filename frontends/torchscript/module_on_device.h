#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "foretell/program.h"

namespace foretell::torchscript {

/// A loaded module whose tensors have been replaced by ones on a device.
struct ModuleTensors {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
};

/// Puts new tensors of the same shapes on `options.device` into every slot of
/// `module` (which may still hold weights that must not be read), shared
/// tensors staying shared, and sets its training flag.
ModuleTensors ReplaceTensors(torch::jit::Module& module,
                             const InstanceOptions& options);

/// Moves tensor constants with at least one dimension in every graph of
/// `module` to `device`; scalars stay, because they carry shape arithmetic.
/// Must come before the first run.
void MoveConstants(torch::jit::Module& module, at::Device device);

}  // namespace foretell::torchscript
