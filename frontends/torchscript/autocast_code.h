#pragma once

#include <torch/csrc/jit/api/module.h>

namespace foretell::torchscript {

/// Makes every `with torch.autocast(…):` in the code of `module`, and of all it
/// calls, a region of the RunScope. Must come before the first run.
void EnterAutocast(const torch::jit::Module& module);

}  // namespace foretell::torchscript
