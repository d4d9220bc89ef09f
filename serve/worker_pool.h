#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/message.h"
#include "src/core/process.h"

namespace foretell::serve {

/// Descriptor of a worker's end of the channel.
inline constexpr int kWorkerDescriptor = 3;

struct PoolOptions {
  std::vector<std::string> argv;  ///< Starts a worker.
  int workers = 2;
  int queue = 64;                ///< Jobs that may wait; more are refused.
  double timeout_s = 60;         ///< Time limit of a job, without waiting.
  int jobs_per_worker = 10'000;  ///< Jobs until a worker is replaced.
};

/// Why a job has no answer.
enum class NoAnswer : std::uint8_t { kBusy, kTimeout, kWorkerLost };

/// Thrown by WorkerPool::Ask.
struct NotAnswered {
  NoAnswer why;
};

/// Processes that answer jobs, one at a time each; they are started before the
/// first job. For any number of threads.
class WorkerPool {
 public:
  /// Throws Error(kIo) if a worker cannot be started.
  explicit WorkerPool(PoolOptions options);

  /// Waits for a worker and for its answer to a packed job. Throws NotAnswered.
  /// Replaces a worker that exceeds the limit or dies; if that fails, e.g. for
  /// lack of descriptors or during an upgrade of the program, later jobs try
  /// again.
  Answer Ask(std::string_view job);

  /// Jobs that are waiting for a worker.
  int waiting() const { return waiting_; }
  /// Workers with a job.
  int busy() const;
  /// Workers that were started to replace others.
  std::int64_t replaced() const { return replaced_; }

 private:
  /// A slot for a worker; empty if no worker could be started, which the next
  /// job retries.
  struct Worker {
    std::optional<ChildProcess> process;
    int jobs = 0;
  };
  Worker Start() const;
  Worker Take();
  void GiveBack(Worker worker);
  void Replace(Worker worker);
  void RequireProcess(Worker& worker);

  const PoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<Worker> free_;
  std::atomic<int> waiting_ = 0;
  std::atomic<std::int64_t> replaced_ = 0;
};

}  // namespace foretell::serve
