#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>

namespace foretell::torchscript {

/// Requires that everything in a module, including containers, keys and inner
/// objects, is of the type that the code declares: LibTorch's loader does not
/// compare them, and its interpreter then treats an object's slots as those of
/// another class. Tensors as keys of dictionaries are refused, too, because
/// they cannot be replaced. Throws Error(kCorrupt) that
/// names the class, the attribute and both types.
void CheckLoadedValues(const std::string& path,
                       const torch::jit::Module& module);

}  // namespace foretell::torchscript
