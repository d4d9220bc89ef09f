#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace foretell::conformance {

/// What became of one task.
struct TaskResult {
  bool finished = false;
  /// What the task returned when `finished`, else why it did not, e.g.
  /// "killed by signal 11 (Segmentation fault)".
  std::string text;
};

struct PoolOptions {
  int processes = 2;
  /// A task that takes longer is killed.
  std::chrono::seconds patience{60};
};

/// Runs `task(i)` for every i below `count` in child processes and returns
/// what each became, in order of i. A task that crashes, exits or hangs ends
/// its process; a new one goes on with the next task.
///
/// Requires: the calling process has one thread; `task` returns a text without
/// line breaks and throws nothing. Throws Error(kIo) when the system refuses a
/// process or a pipe.
std::vector<TaskResult> RunIsolated(
    size_t count, const std::function<std::string(size_t)>& task,
    const PoolOptions& options = {});

}  // namespace foretell::conformance
