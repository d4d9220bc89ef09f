#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foretell::torchscript {

/// Largest number of graph nodes after all calls have been inlined.
inline constexpr std::int64_t kMaxInlinedNodes = 500'000;

/// Refuses code that LibTorch's parser, which recurses, could not survive:
/// brackets or blocks nested too deep, or one expression too long. `code` holds
/// (record, text). Throws Error(kUnsupported) that names the record.
void RefuseDeepCode(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code);

/// Refuses a module whose forward pass would grow beyond kMaxInlinedNodes once
/// its calls are inlined; throws Error(kUnsupported) with the number.
void RefuseHugeForward(const std::string& path,
                       const torch::jit::Module& module);

/// Makes every function and every loop of `module` count the nodes that it
/// runs (run_budget.h). Must come before the first run.
void CountSteps(torch::jit::Module& module);

}  // namespace foretell::torchscript
