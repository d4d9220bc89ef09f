#pragma once

#include <torch/csrc/jit/api/module.h>

namespace foretell::torchscript {

/// Splits long blocks of every function of `module`: LibTorch puts a node whose
/// result is used once inside the next, recursively, and honest networks are
/// long. Must come before the first run.
void BreakChains(torch::jit::Module& module);

}  // namespace foretell::torchscript
