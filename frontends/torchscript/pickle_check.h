#pragma once

#include <string>
#include <string_view>

namespace foretell::torchscript {

/// Levels of containers in a pickle, beyond which what LibTorch makes from it
/// could not be freed, since that recurses. Modules count two levels each.
inline constexpr int kMaxPickleDepth = 1000;

/// Longest name of a class, and of a type.
inline constexpr std::size_t kMaxNameLength = 1024;

/// Refuses a pickle that LibTorch's reader would not survive: one that states
/// lengths or memo numbers beyond its content, which would be allocated, that
/// takes more from the stack than it holds, or that nests deeper than
/// kMaxPickleDepth; and one that names anything except dense tensors, lists,
/// devices and classes of the file's own code, since LibTorch's readers of
/// others trust what they read, or run code from it. Throws Error that
/// names `path`, `record`, the byte and both values: kUnsupported for a name
/// that is not supported, kCorrupt for everything else.
void RefuseBadPickle(const std::string& path, const std::string& record,
                     std::string_view pickle);

}  // namespace foretell::torchscript
