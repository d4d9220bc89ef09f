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
/// that dies or hangs fails only its task, and is replaced.
///
/// Requires a process without other threads, since workers are forked. Changes
/// that `work` makes to memory are not visible here. An exception of `done`
/// ends all workers and is rethrown. Throws Error(kIo) if no process can be
/// started.
void RunInWorkers(
    std::span<const std::int64_t> tasks, const PoolOptions& options,
    const std::function<std::string(std::int64_t)>& work,
    const std::function<void(std::int64_t, const Outcome&)>& done);

}  // namespace foretell::sandbox
