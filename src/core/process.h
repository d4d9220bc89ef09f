#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/core/channel.h"
#include "src/core/deadline.h"
#include "src/core/descriptor.h"

namespace foretell {

/// Limits of a child; an unset one is inherited.
struct ProcessLimits {
  std::optional<std::int64_t> memory_bytes;  ///< Address space (RLIMIT_AS).
  std::optional<std::int64_t> cpu_s;         ///< Processor time (RLIMIT_CPU).
  std::optional<std::int64_t> file_bytes;    ///< Of a file (RLIMIT_FSIZE).
  std::optional<std::int64_t> core_bytes;    ///< Of a core dump (RLIMIT_CORE).
};

/// How a process ended.
struct ProcessEnd {
  enum class Kind : std::uint8_t {
    kExited,
    kSignalled,
    kDeadline,  ///< It was killed for running past its deadline.
    kThreads,   ///< It was killed for having more threads than allowed.
  };
  Kind kind = Kind::kExited;
  int status = 0;  ///< Exit status, for kExited.
  int signal = 0;  ///< Signal, for kSignalled.
  /// Peak resident bytes of it or of a process that it waited for. At least
  /// those of this process at the fork, even after exec: the kernel counts them
  /// too.
  std::int64_t peak_bytes = 0;
};

/// "ended by SIGSEGV (11)", "ended with status 7", "killed at its deadline".
std::string ToString(const ProcessEnd& end);

/// A child process that the destructor kills and waits for, so that it neither
/// outlives the object nor becomes a zombie, unless it is abandoned.
class ChildProcess {
 public:
  /// Starts a copy of this process that calls `work` with its end of a channel
  /// and then ends with status 0; it never returns into the caller's code. An
  /// exception of `work` is rethrown by this end's Receive, and the status is
  /// 1. The child dies with this process, and has no channel of another child.
  ///
  /// Requires a process without other threads, or a child that needs none of
  /// the locks they may hold. Throws Error(kIo).
  static ChildProcess Fork(const ProcessLimits& limits,
                           const std::function<void(Channel&)>& work);

  /// Kills a child without waiting for its end, which takes some milliseconds:
  /// the next Fork or Abandon reaps it if it has ended, else BuryAbandoned.
  static void Abandon(ChildProcess child);
  /// Waits for all that were abandoned.
  static void BuryAbandoned();

  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// This end of its channel.
  Channel& channel() { return *channel_; }
  pid_t id() const { return id_; }

  /// Sets or replaces its deadline: `seconds` from now.
  void SetDeadline(double seconds) { deadline_ = Deadline::In(seconds); }
  const Deadline& deadline() const { return deadline_; }

  /// Returns how it ended, if it has; never waits. Kills it past its deadline.
  std::optional<ProcessEnd> Poll();
  /// Waits until it ends or is killed at its deadline; calls `meanwhile` every
  /// few milliseconds, if given.
  ProcessEnd Wait(const std::function<void()>& meanwhile = {});
  /// Kills it; returns how it ended if it already had.
  ProcessEnd Kill();

 private:
  ChildProcess(pid_t id, Channel channel);
  bool HasEnded() const;
  ProcessEnd Bury();
  /// Killed children that are not reaped yet.
  static std::vector<ChildProcess>& Abandoned();
  /// Clears the list in a forked child, which is not their parent.
  static void ForgetAbandoned();
  void Swap(ChildProcess& other) noexcept;

  pid_t id_ = -1;
  Deadline deadline_;
  std::optional<Channel> channel_;
  std::optional<ProcessEnd> end_;
};

}  // namespace foretell
