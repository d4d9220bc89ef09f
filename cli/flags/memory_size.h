#pragma once

#include <cstdint>
#include <string>

namespace foretell::cli {

/// "16GiB", "1.5 GB" or "768MiB" in bytes, at least one. Throws
/// Error(kInvalidArgument) that begins with `flag`, quotes the text and lists
/// the units.
std::int64_t ParseMemorySize(const std::string& flag, const std::string& text);

}  // namespace foretell::cli
