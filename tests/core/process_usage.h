#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

/// What tests of limits measure of their own process. Memory and bytes only:
/// time depends on what else the machine does.
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

/// Bytes that this process has asked of read(2) and its kin so far
/// (proc_pid_io(5)); empty pages of a file's holes count too.
inline std::int64_t BytesRead() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  std::int64_t bytes = -1;
  counts >> name >> bytes;
  return name == "rchar:" ? bytes : -1;
}

/// Bound on what bad input may cost.
inline constexpr std::int64_t kMaxResidentGrowth = 500'000'000;

}  // namespace foretell
