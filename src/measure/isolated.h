#pragma once

#include <cstddef>
#include <string>

#include "src/core/process.h"

namespace foretell::measure {

/// How a measuring process ended, and what it left.
struct IsolatedOutcome {
  ProcessEnd end;
  /// What it wrote to file descriptor kMeasureResultFd, at most
  /// kMaxResultBytes.
  std::string result;
  /// The end of what it wrote to stderr and stdout, at most kMaxLogBytes.
  std::string log;
};

inline constexpr std::size_t kMaxResultBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxLogBytes = 4096;

/// Runs `command`, whose descriptors are added here, to its end or its deadline
/// and then kills whatever is left of its process group. Throws Error(kIo) when
/// it cannot be started.
IsolatedOutcome RunIsolated(SpawnOptions command);

}  // namespace foretell::measure
