#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foretell::torchscript {

/// Largest number of lines of all code together.
inline constexpr std::int64_t kMaxLines = 200'000;

/// Refuses code that LibTorch's parser, which recurses, could not survive:
/// brackets or blocks nested too deep, one expression or name too long; and
/// more lines than kMaxLines. `code` holds (record, text). Throws
/// Error(kUnsupported) that names the record.
void RefuseDeepCode(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code);

/// Splits long blocks of every function of `module`: LibTorch puts a node whose
/// result is used once inside the next, recursively. Must come before the first
/// run.
void BreakChains(torch::jit::Module& module);

}  // namespace foretell::torchscript
