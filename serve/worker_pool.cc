#include "serve/worker_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "foretell/error.h"
#include "src/core/failure.h"

namespace foretell::serve {

namespace {

constexpr int kNiceness = 5;

/// In a new process: becomes the worker's program, which knows its end of
/// `channel` by its number and has nothing else open except its streams.
void Become(std::vector<std::string> argv, const Channel& channel) {
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  dup2(channel.end().number(), kWorkerDescriptor);
  close_range(kWorkerDescriptor + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  // Known answers and refusals do not wait for the processors that workers keep
  // busy.
  errno = 0;
  if (nice(kNiceness) == -1 && errno != 0) {
    throw IoFailure("nice: {}", SystemMessage(errno));
  }
  // If both numbers are equal, dup2 did nothing and it would be closed.
  fcntl(kWorkerDescriptor, F_SETFD, 0);
  execv(words.front(), words.data());
  throw IoFailure("{}: {}", argv.front(), SystemMessage(errno));
}

}  // namespace

WorkerPool::WorkerPool(PoolOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.workers; ++i) free_.push_back(Start());
}

WorkerPool::Worker WorkerPool::Start() const {
  Worker worker;
  worker.process = ChildProcess::Fork(
      {}, [this](Channel& channel) { Become(options_.argv, channel); });
  return worker;
}

int WorkerPool::busy() const {
  const std::scoped_lock lock(mutex_);
  return options_.workers - static_cast<int>(free_.size());
}

WorkerPool::Worker WorkerPool::Take() {
  std::unique_lock lock(mutex_);
  if (free_.empty() && waiting_ >= options_.queue) {
    throw NotAnswered{NoAnswer::kBusy};
  }
  ++waiting_;
  is_free_.wait(lock, [this] { return !free_.empty(); });
  --waiting_;
  Worker worker = std::move(free_.back());
  free_.pop_back();
  return worker;
}

void WorkerPool::GiveBack(Worker worker) {
  {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(worker));
  }
  is_free_.notify_one();
}

void WorkerPool::Replace(Worker worker) {
  ++replaced_;
  {
    // The list of children of this process is shared.
    const std::scoped_lock lock(mutex_);
    worker = {};
    try {
      worker = Start();
    } catch (const Error&) {
      // RequireProcess tries again.
    }
    free_.push_back(std::move(worker));
  }
  is_free_.notify_one();
}

void WorkerPool::RequireProcess(Worker& worker) {
  if (worker.process) return;
  try {
    const std::scoped_lock lock(mutex_);
    worker = Start();
  } catch (const Error&) {
    GiveBack({});
    throw NotAnswered{NoAnswer::kWorkerLost};
  }
}

Answer WorkerPool::Ask(std::string_view job) {
  Worker worker = Take();
  RequireProcess(worker);
  Channel& channel = worker.process->channel();
  const Deadline deadline = Deadline::In(options_.timeout_s);
  bool is_late = false;
  std::optional<Answer> answer;
  try {
    const bool is_sent = channel.Send(job, deadline);
    std::optional<std::string> message;
    if (is_sent) message = channel.Receive(deadline);
    is_late = !message && deadline.HasPassed();
    if (message) answer = UnpackAnswer(*message);
  } catch (const Error&) {
    // The child could not become the worker, or is a different program.
  }
  if (!answer) {
    Replace(std::move(worker));
    throw NotAnswered{is_late ? NoAnswer::kTimeout : NoAnswer::kWorkerLost};
  }
  if (++worker.jobs < options_.jobs_per_worker) {
    GiveBack(std::move(worker));
  } else {
    Replace(std::move(worker));
  }
  return *std::move(answer);
}

}  // namespace foretell::serve
