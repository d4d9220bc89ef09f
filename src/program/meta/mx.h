#pragma once

#include <cstdint>

namespace foretell::meta {

/// Values that share a scale in MX formats.
inline constexpr std::int64_t kMxBlock = 32;

}  // namespace foretell::meta
