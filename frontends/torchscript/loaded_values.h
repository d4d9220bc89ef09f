#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>

namespace foretell::torchscript {

/// Requires of everything that a module holds, containers, keys and objects
/// inside included, that it is of the type that the code says: LibTorch's
/// loader does not compare them, and its interpreter then takes an object's
/// slots for those of another class. Tensors as keys of dictionaries are
/// refused, too, because they cannot be replaced. Throws Error(kCorrupt) that
/// names the class, the attribute and both types.
void CheckLoadedValues(const std::string& path,
                       const torch::jit::Module& module);

}  // namespace foretell::torchscript
