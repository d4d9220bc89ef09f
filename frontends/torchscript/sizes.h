#pragma once

#include <torch/csrc/jit/api/module.h>

namespace foretell::torchscript {

/// Makes every function of `module` account for the lists, strings,
/// dictionaries and tuples that it makes or reads, before it does so where one
/// node could make much of little (run_budget.h). Must come before the first
/// run.
void ChargeSizes(torch::jit::Module& module);

}  // namespace foretell::torchscript
