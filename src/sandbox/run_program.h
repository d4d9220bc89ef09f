#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/core/process.h"
#include "src/sandbox/program_lock.h"

namespace foretell::sandbox {

/// A program to run to its end, with an empty stdin.
struct Command {
  /// argv[0] is searched for in PATH; with `locks` it is a path.
  std::vector<std::string> argv;
  /// "NAME=value"; replaces this process's environment if given.
  std::optional<std::vector<std::string>> environment;
  std::string folder;  ///< Working directory.
  std::string log;     ///< File that its output is appended to.
  ProcessLimits limits;
  double deadline_s = 0;  ///< From the start.
  int most_threads = 0;   ///< It is killed if it has more; 0: any number.
  std::optional<ProgramLocks> locks;  ///< Without their program.
  /// Called every few milliseconds while the program runs, with its process.
  std::function<void(pid_t)> watch;
};

/// Runs the program, which dies with this process. Throws Error(kIo) with the
/// reason if it cannot be started.
ProcessEnd Run(const Command& command);

/// The last line of a log that reports an error ("ERROR: …" or "SomeError: …"),
/// else the last that has text; "" without such a line.
std::string LastWords(const std::string& log);

}  // namespace foretell::sandbox
