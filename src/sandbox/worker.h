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
};

struct WorkerOptions {
  ProcessLimits limits;
  /// How the process is locked before its work is prepared; its `keep` lists
  /// what stays open apart from what a worker needs. Absent: not at all.
  std::optional<LockOptions> lock;
  double deadline_s = 300;  ///< Limit of one task.
  /// Longest answer that is accepted; a worker that announces a longer one
  /// counts as dead. Errors have Channel::kMostErrorBytes.
  std::int64_t most_answer_bytes = Channel::kMostBytes;
  /// Reads its standard output and errors, for Worker::last_words.
  bool hears_words = false;
};

/// A process in which one task after another is done, so that whatever happens
/// there is an outcome here: an error, a crash, a hang. It is a fork of this
/// one, and ends with the object.
class Worker {
 public:
  using Work = std::function<std::string(std::string_view task)>;
  /// Makes the work, in the worker; what it throws ends the worker, and is the
  /// outcome of the first task.
  using Prepare = std::function<Work()>;

  /// Requires what ChildProcess::Fork does. Throws Error(kIo).
  Worker(const WorkerOptions& options, const Prepare& prepare);

  /// Hands over a task; they are done in their order. Its deadline begins now,
  /// or with the outcome of its predecessor. Waits at most until then: a worker
  /// that does not listen shows in the outcome.
  void Give(std::string_view task);
  /// How the first task under way has ended, if it has; never waits.
  std::optional<Outcome> Poll();
  /// Waits until it has ended, at its deadline at the latest.
  Outcome Await();

  /// What to wait for: these are readable when Poll has something to do.
  std::array<int, 2> descriptors();

  /// The end of what it wrote to its standard streams, at most kMostWords
  /// bytes, as far as Poll or Await have seen it.
  const std::string& last_words() const { return words_; }
  static constexpr std::size_t kMostWords = 4096;

  /// Ends a worker without waiting until it is gone: ChildProcess::Abandon.
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
