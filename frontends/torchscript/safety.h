#pragma once

#include <torch/csrc/jit/ir/ir.h>

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

/// The same for the compiled graph with all calls inlined, before it runs.
void RefuseUnsafeGraph(const std::string& path, const torch::jit::Graph& graph);

}  // namespace foretell::torchscript
