#pragma once

#include <torch/csrc/jit/api/module.h>

namespace foretell::torchscript {

/// Lets operators know the whole path of their module: a call of
/// `self.layers.0` becomes one of a method of `self.layers`, which calls its
/// `0`. LibTorch names a call by the last attribute alone, so that the modules
/// of two lists would be the same "0". What `module` computes stays. Must come
/// before the first run.
void CallThroughContainers(torch::jit::Module& module);

}  // namespace foretell::torchscript
