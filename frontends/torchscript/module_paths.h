#pragma once

#include <torch/csrc/jit/api/module.h>

namespace foretell::torchscript {

/// Gives operators the whole path of their module: a call of `self.layers.0`
/// becomes a call of a method of `self.layers`, which calls its `0`. LibTorch
/// names a call only by the last attribute, so that the modules of two lists
/// would both be "0". What `module` computes does not change. Must come before
/// the first run.
void CallThroughContainers(torch::jit::Module& module);

}  // namespace foretell::torchscript
