#pragma once

#include <string>
#include <utility>
#include <vector>

namespace foretell::torchscript {

/// Longest chain of classes and functions in which each needs the next.
/// LibTorch imports them recursively.
inline constexpr int kMaxReferences = 500;

/// Refuses code whose classes and functions need one another in a chain longer
/// than kMaxReferences or in a cycle, or that names one which does not exist.
/// `code` holds (record, text). Throws Error(kUnsupported, kCorrupt) that names
/// the record and the class or function.
void RefuseLongReferences(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code);

}  // namespace foretell::torchscript
