#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "foretell/error.h"
#include "src/core/channel.h"
#include "src/core/descriptor.h"
#include "src/core/process.h"
#include "src/sandbox/lock.h"

namespace foretell::sandbox {

/// How a task in another process ended.
struct Outcome {
  enum class Kind : std::uint8_t {
    kDone,      ///< `text` is the answer.
    kFailed,    ///< The work threw; `text` is the message.
    kDied,      ///< The process did: "ended by SIGSEGV (11)".
    kTimedOut,  ///< It was killed at the deadline.
  };
  Kind kind = Kind::kDone;
  std::string text;
  ErrorCode code = ErrorCode::kInternal;  ///< Where it is kFailed.
  int signal = 0;  ///< By which the process ended, where it is kDied.
};

struct WorkerOptions {
  ProcessLimits limits;
  /// Sandbox of the process, entered before its work is prepared; its `keep`
  /// lists descriptors to keep open in addition to the worker's. Absent: none.
  std::optional<LockOptions> lock;
  double deadline_s = 300;  ///< Limit of one task.
  /// Longest answer that is accepted; a worker that announces a longer one
  /// counts as dead. Errors have Channel::kMostErrorBytes.
  std::int64_t most_answer_bytes = Channel::kMostBytes;
  /// Reads its standard output and errors, for Worker::last_words.
  bool hears_words = false;
};

/// A process that runs tasks one after another, so that an error, a crash or a
/// hang there becomes an outcome here. It is a fork of this process, and ends
/// with the object.
class Worker {
 public:
  using Work = std::function<std::string(std::string_view task)>;
  /// Creates the work, in the worker; an exception ends the worker, and is the
  /// outcome of the first task.
  using Prepare = std::function<Work()>;

  /// Requires what ChildProcess::Fork does. Throws Error(kIo).
  Worker(const WorkerOptions& options, const Prepare& prepare);

  /// Submits a task; tasks run in order. Its deadline starts now, or with the
  /// outcome of its predecessor. Waits at most until then: an unresponsive
  /// worker becomes an outcome.
  void Give(std::string_view task);
  /// Outcome of the first pending task, if it has ended; never waits.
  std::optional<Outcome> Poll();
  /// Waits for that outcome, at most until its deadline.
  Outcome Await();

  /// Descriptors that are readable when Poll has something to do.
  std::array<int, 2> descriptors();

  /// The end of what it wrote to its standard streams, at most kMostWords
  /// bytes, as read by Poll or Await so far.
  const std::string& last_words() const { return words_; }
  static constexpr std::size_t kMostWords = 4096;

  /// Kills a worker without waiting for its end: ChildProcess::Abandon.
  static void Abandon(Worker worker);

 private:
  Worker(const WorkerOptions& options, const Prepare& prepare, Pipe words);
  void Send();
  std::optional<Outcome> Look();
  std::optional<Outcome> TakeAnswer();
  void Hear();

  double deadline_s_;
  std::deque<std::string> unsent_;
  std::size_t under_way_ = 0;  ///< Tasks without an outcome, sent or not.
  ChildProcess process_;
  Descriptor words_end_;
  std::string words_;
};

}  // namespace foretell::sandbox
