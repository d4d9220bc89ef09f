#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

/// What tests of limits measure of their own process.
namespace foretell {

/// Largest resident memory of this process so far, in bytes.
inline std::int64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

/// Processor time of this process so far, in seconds; unlike the time on the
/// wall it does not depend on what else runs.
inline double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// How much longer the same work takes under AddressSanitizer.
#ifdef __SANITIZE_ADDRESS__
inline constexpr double kSlowdown = 10;
#else
inline constexpr double kSlowdown = 1;
#endif

/// Bounds on what bad input may cost.
inline constexpr double kMaxProcessorSeconds = 2 * kSlowdown;
inline constexpr std::int64_t kMaxResidentGrowth = 500'000'000;

}  // namespace foretell
