// A worker is a forked copy of this process at the other end of a channel,
// which brings it the numbers of tasks and takes away what came of them. It
// asks for nothing, so that a worker that crashes in the middle of a foreign
// model leaves no lock and no half-written row behind: all writing is done
// here. Which task it was working on is known, and only that one is lost.

#include "datasets/collect/worker_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "src/core/process.h"

namespace foretell::dataset {
namespace {

using Work = std::function<std::string(std::int64_t)>;
using Done = std::function<void(std::int64_t, const TaskOutcome&)>;

constexpr double kPollSeconds = 0.1;

/// What a worker does until its channel is closed.
void Serve(Channel& channel, const Work& work) {
  while (const std::optional<std::string> task = channel.Receive()) {
    try {
      channel.Send(work(std::stoll(*task)));
    } catch (const std::exception& error) {
      channel.SendError(error);
    }
  }
}

struct Worker {
  std::optional<ChildProcess> process;
  std::optional<std::int64_t> task;
};

class Pool {
 public:
  Pool(std::span<const std::int64_t> tasks, const WorkerOptions& options,
       const Work& work, const Done& done)
      : tasks_(tasks), options_(options), work_(work), done_(done) {}

  void Run() {
    const std::size_t wanted = std::min<std::size_t>(
        static_cast<std::size_t>(std::max(options_.workers, 1)), tasks_.size());
    workers_.resize(wanted);
    for (Worker& worker : workers_) Start(worker);
    while (std::ranges::any_of(workers_, &IsBusy)) Wait();
  }

 private:
  static bool IsBusy(const Worker& worker) { return worker.task.has_value(); }

  void Start(Worker& worker) {
    if (next_ == tasks_.size()) return;
    if (!worker.process) {
      worker.process = ChildProcess::Fork(
          {}, [this](Channel& channel) { Serve(channel, work_); });
    }
    worker.task = tasks_[next_++];
    worker.process->SetDeadline(options_.deadline_s);
    // A failure shows as the worker's end when its results are read.
    worker.process->channel().Send(fmt::format("{}", *worker.task));
  }

  void Wait() {
    std::vector<int> ends;
    for (Worker& worker : workers_) {
      if (!IsBusy(worker)) continue;
      ends.push_back(worker.process->channel().end().number());
    }
    AwaitReadable(ends, Deadline::In(kPollSeconds));
    for (Worker& worker : workers_) {
      if (!IsBusy(worker)) continue;
      if (const auto outcome = OutcomeOf(worker)) Finish(worker, *outcome);
    }
  }

  /// How a worker's task has ended, if it has.
  std::optional<TaskOutcome> OutcomeOf(Worker& worker) const {
    Channel& channel = worker.process->channel();
    try {
      if (auto text = channel.Receive(Deadline::In(0))) {
        return TaskOutcome{TaskOutcome::Kind::kDone, std::move(*text)};
      }
    } catch (const Error& error) {
      return TaskOutcome{TaskOutcome::Kind::kFailed, error.what()};
    }
    // One that has hung up is of no use, whether it has ended or not.
    const std::optional<ProcessEnd> end =
        channel.is_closed() ? worker.process->Kill() : worker.process->Poll();
    if (!end) return std::nullopt;
    worker.process.reset();
    if (end->kind == ProcessEnd::Kind::kDeadline) {
      return TaskOutcome{
          TaskOutcome::Kind::kTimedOut,
          fmt::format("stopped after the deadline of {} s",
                      static_cast<std::int64_t>(options_.deadline_s))};
    }
    return TaskOutcome{TaskOutcome::Kind::kDied,
                       fmt::format("the worker process: {}", ToString(*end))};
  }

  void Finish(Worker& worker, const TaskOutcome& outcome) {
    const std::int64_t task = *worker.task;
    worker.task.reset();
    Start(worker);
    done_(task, outcome);
  }

  std::span<const std::int64_t> tasks_;
  const WorkerOptions& options_;
  const Work& work_;
  const Done& done_;
  std::size_t next_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace

void RunInWorkers(
    std::span<const std::int64_t> tasks, const WorkerOptions& options,
    const std::function<std::string(std::int64_t)>& work,
    const std::function<void(std::int64_t, const TaskOutcome&)>& done) {
  Pool(tasks, options, work, done).Run();
}

}  // namespace foretell::dataset
