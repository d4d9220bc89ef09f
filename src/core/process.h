#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/core/channel.h"
#include "src/core/deadline.h"
#include "src/core/descriptor.h"

namespace foretell {

/// What a child may use. What is absent is what this process may use.
struct ProcessLimits {
  std::optional<std::int64_t> memory_bytes;  ///< Address space (RLIMIT_AS).
  std::optional<std::int64_t> cpu_s;         ///< Processor time (RLIMIT_CPU).
  std::optional<std::int64_t> file_bytes;    ///< Of a file (RLIMIT_FSIZE).
  std::optional<std::int64_t> core_bytes;    ///< Of a core dump (RLIMIT_CORE).
  std::optional<double> deadline_s;          ///< From the start; wall clock.
};

/// How a process ended.
struct ProcessEnd {
  enum class Kind : std::uint8_t {
    kExited,
    kSignalled,
    kDeadline,  ///< It was killed for running past its deadline.
  };
  Kind kind = Kind::kExited;
  int status = 0;  ///< Exit status, where it is kExited.
  int signal = 0;  ///< Signal, where it is kSignalled.
};

/// "ended by SIGSEGV (11)", "ended with status 7", "killed at its deadline".
std::string ToString(const ProcessEnd& end);

/// A process that runs a function of this program.
struct ForkOptions {
  ProcessLimits limits;
  /// Called in the child before its work, under the limits: for what the child
  /// is to be forbidden for ever. May be empty.
  std::function<void()> initialize;
};

/// A process that runs another program.
struct SpawnOptions {
  std::vector<std::string> argv;  ///< argv[0] is searched for in PATH.
  /// Added to, or replacing, this process's environment.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Ends of pipes, by the numbers that the program knows them by, below 10.
  std::vector<std::pair<int, const Descriptor*>> descriptors;
  std::optional<double> deadline_s;
};

/// A child of this process, killed and waited for with the object: no child
/// outlives it, and none is left as a zombie, unless it is abandoned.
class ChildProcess {
 public:
  /// Starts a copy of this process that calls `work` with its end of a channel
  /// and then ends with status 0; it never comes back into the caller's code.
  /// What `initialize` or `work` throws is thrown by this end's Receive, and
  /// the status is 1. The child dies with this process, and holds no channel of
  /// another child.
  ///
  /// Requires a process without other threads, or a child that needs no lock
  /// that one of them may hold. Throws Error(kIo).
  static ChildProcess Fork(const ForkOptions& options,
                           const std::function<void(Channel&)>& work);

  /// Ends a child without waiting until it is gone, which takes the kernel some
  /// milliseconds: the next Fork or Abandon buries it if it is gone by then, or
  /// BuryAbandoned.
  static void Abandon(ChildProcess child);
  /// Waits for all that were abandoned.
  static void BuryAbandoned();

  /// Starts a program in a process group of its own, which is killed when the
  /// program ends. Its stdin is empty. Throws Error(kIo) that names argv[0].
  static ChildProcess Spawn(const SpawnOptions& options);

  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// This end of a forked child's channel. Requires a child made by Fork.
  Channel& channel() { return *channel_; }
  pid_t id() const { return id_; }

  /// Replaces the deadline by one that is `seconds` from now.
  void SetDeadline(double seconds) { deadline_ = Deadline::In(seconds); }
  const Deadline& deadline() const { return deadline_; }

  /// How it ended, if it has; never waits. Kills it past its deadline.
  std::optional<ProcessEnd> Poll();
  /// Waits until it ends or is killed at its deadline.
  ProcessEnd Wait();
  /// Ends it now; how it ended where it already has.
  ProcessEnd Kill();

 private:
  ChildProcess(pid_t id, bool leads_group, std::optional<double> deadline_s);
  bool HasEnded() const;
  ProcessEnd Bury();
  /// Those that are ended and not buried.
  static std::vector<ChildProcess>& Abandoned();
  /// Forgets them in a child, whose children they are not.
  static void ForgetAbandoned();
  void Swap(ChildProcess& other) noexcept;

  pid_t id_ = -1;
  bool leads_group_ = false;
  Deadline deadline_;
  std::optional<Channel> channel_;
  std::optional<ProcessEnd> end_;
};

}  // namespace foretell
