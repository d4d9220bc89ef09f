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

/// A bandwidth of 1 GB/s (10^9 bytes per second), in bytes per microsecond.
inline constexpr double kBytesPerUsPerGbS = 1e3;

}  // namespace foretell
