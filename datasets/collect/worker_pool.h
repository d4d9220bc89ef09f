#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace foretell::dataset {

/// How a task in a worker process ended.
struct TaskOutcome {
  enum class Kind : std::uint8_t {
    kDone,      ///< `text` is what the work returned.
    kFailed,    ///< It threw; `text` is the message.
    kDied,      ///< The process did; `text` says how.
    kTimedOut,  ///< It was killed after the deadline.
  };
  Kind kind = Kind::kDone;
  std::string text;
};

struct WorkerOptions {
  int workers = 1;          ///< Processes, >= 1.
  double deadline_s = 300;  ///< Limit of one task.
};

/// Runs `work(task)` for every element of `tasks` in forked processes and
/// calls `done(task, outcome)` in this one, in the order of completion. A
/// worker that dies or hangs costs its task only; another takes its place.
///
/// Requires a process without other threads, since workers are forked. Nothing
/// that `work` does to memory is seen here. Whatever `done` throws ends all
/// workers and is passed on. Throws Error(kIo) when no process can be made.
void RunInWorkers(
    std::span<const std::int64_t> tasks, const WorkerOptions& options,
    const std::function<std::string(std::int64_t)>& work,
    const std::function<void(std::int64_t, const TaskOutcome&)>& done);

}  // namespace foretell::dataset
