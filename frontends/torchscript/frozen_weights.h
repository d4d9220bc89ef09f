#pragma once

#include <torch/csrc/jit/api/module.h>

#include "frontends/torchscript/module_on_device.h"

namespace foretell::torchscript {

/// The floating-point constants with at least one dimension in the code of a
/// frozen module, each once: weights as parameters, which nothing trains, and
/// those that only are a norm's statistics as buffers.
ModuleTensors FrozenTensors(const torch::jit::Module& module);

}  // namespace foretell::torchscript
