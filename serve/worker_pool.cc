#include "serve/worker_pool.h"

#include <optional>
#include <utility>

namespace foretell::serve {

WorkerPool::WorkerPool(PoolOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.workers; ++i) free_.push_back(Start());
}

WorkerPool::Worker WorkerPool::Start() const {
  auto [mine, its] = MakeChannel();
  SpawnOptions spawn{.argv = options_.argv};
  spawn.descriptors.emplace_back(kWorkerDescriptor, &its.end());
  return {ChildProcess::Spawn(spawn), std::move(mine)};
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
  worker.process.Kill();
  ++replaced_;
  GiveBack(Start());
}

Answer WorkerPool::Ask(const Job& job) {
  Worker worker = Take();
  const bool is_sent = worker.channel.Send(Pack(job));
  std::optional<std::string> message;
  if (is_sent) {
    message = worker.channel.Receive(Deadline::In(options_.timeout_s));
  }
  if (!message) {
    const bool is_late = is_sent && !worker.channel.is_closed();
    Replace(std::move(worker));
    throw NotAnswered{is_late ? NoAnswer::kTimeout : NoAnswer::kWorkerLost};
  }
  Answer answer = UnpackAnswer(*message);
  if (++worker.jobs < options_.jobs_per_worker) {
    GiveBack(std::move(worker));
  } else {
    Replace(std::move(worker));
  }
  return answer;
}

}  // namespace foretell::serve
