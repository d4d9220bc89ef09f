#pragma once

#include <torch/csrc/jit/api/compilation_unit.h>

#include <string>
#include <utility>
#include <vector>

namespace foretell::torchscript {

/// Refuses code that must not even be loaded: loading compiles all of it and
/// runs `__setstate__`. Throws Error(kUnsupported) that lists every operator
/// outside ATen, prim and torchvision, and everything that touches files,
/// Python or other processes. `code` holds (record, text).
void RefuseUnsafeCode(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code);

/// The same for every compiled function of a loaded module, before it runs.
void RefuseUnsafeFunctions(const std::string& path,
                           const torch::jit::CompilationUnit& unit);

}  // namespace foretell::torchscript
