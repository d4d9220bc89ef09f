#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

namespace foretell::torchscript {

/// Names ("aten::nonzero") of the dispatcher's operators that `forward` of
/// `module` calls, directly or through other methods, and that cannot run on
/// the meta device: their results depend on data or there is no kernel. Each
/// once, sorted.
std::vector<std::string> OperatorsWithoutMetaKernel(
    const torch::jit::Module& module);

}  // namespace foretell::torchscript
