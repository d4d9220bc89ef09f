#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

/// What tests of limits measure of their own process.
namespace foretell {

/// Lets the next peak be one of what comes now: earlier tests of the same
/// process may have needed more (Linux 4.0 and newer; proc_pid_clear_refs(5)).
inline void ForgetPeakResidentBytes() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// Largest resident memory of this process since its start or since
/// ForgetPeakResidentBytes, in bytes.
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
