#pragma once

#include <torch/csrc/jit/api/module.h>

namespace foretell::torchscript {

/// Makes the code of `module` call what eager code would: where Python returns
/// its operand without a call, so does the code, and the casts that LibTorch
/// has written into a frozen file become casts on every device. Must come
/// before the first run.
void CallAsEagerCode(const torch::jit::Module& module);

}  // namespace foretell::torchscript
