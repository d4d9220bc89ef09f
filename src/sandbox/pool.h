#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "src/sandbox/worker.h"

namespace foretell::sandbox {

struct PoolOptions {
  int workers = 1;          ///< Processes, >= 1.
  double deadline_s = 300;  ///< Limit of one task.
};

/// Runs `work(task)` for every element of `tasks` in workers and calls
/// `done(task, outcome)` in this process, in the order of completion. A worker
/// that dies or hangs costs its task only; another takes its place.
///
/// Requires a process without other threads, since workers are forked. Nothing
/// that `work` does to memory is seen here. Whatever `done` throws ends all
/// workers and is passed on. Throws Error(kIo) when no process can be made.
void RunInWorkers(
    std::span<const std::int64_t> tasks, const PoolOptions& options,
    const std::function<std::string(std::int64_t)>& work,
    const std::function<void(std::int64_t, const Outcome&)>& done);

}  // namespace foretell::sandbox
