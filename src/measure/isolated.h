#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foretell::measure {

/// A process to run apart from this one.
struct IsolatedCommand {
  std::vector<std::string> argv;  ///< argv[0] is searched for in PATH.
  /// Added to, or replacing, this process's environment.
  std::vector<std::pair<std::string, std::string>> environment;
  double deadline_s = 0;  ///< Wall clock, > 0.
};

/// How it ended.
struct IsolatedOutcome {
  enum class End { kExited, kSignalled, kDeadline };
  End end = End::kExited;
  int exit_status = 0;  ///< Status, where it is kExited.
  int signal = 0;       ///< Signal, where it is kSignalled.
  /// What it wrote to file descriptor kMeasureResultFd, at most
  /// kMaxResultBytes.
  std::string result;
  /// The end of what it wrote to stderr and stdout, at most kMaxLogBytes.
  std::string log;
};

inline constexpr std::size_t kMaxResultBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxLogBytes = 4096;

/// Runs `command` to its end or its deadline and then kills whatever is left of
/// its process group. Its stdin is empty. Throws Error(kIo) when it cannot be
/// started.
IsolatedOutcome RunIsolated(const IsolatedCommand& command);

/// "SIGSEGV (11)".
std::string SignalName(int signal);

}  // namespace foretell::measure
