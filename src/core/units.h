#pragma once

#include <cstdint>

namespace foretell {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;

/// Bytes as MiB (2^20 bytes).
constexpr double ToMiB(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(kMiB);
}

}  // namespace foretell
