#pragma once

#include <torch/csrc/jit/api/module.h>

#include "frontends/torchscript/module_on_device.h"

namespace foretell::torchscript {

/// The floating-point constants with at least one dimension in the code of a
/// frozen module, each once: weights as parameters, which are not trained, and
/// those used only as a norm's statistics as buffers.
ModuleTensors FrozenTensors(const torch::jit::Module& module);

}  // namespace foretell::torchscript
