// A forked child leaves by _exit alone: no destructor, handler or buffer of the
// parent runs twice.
//
// An end is first seen and only then waited for (WNOWAIT): until then no other
// process can get the pid, so that no other process is killed.
#include "src/core/process.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <set>
#include <thread>

#include "src/core/failure.h"
#include "src/core/units.h"

namespace foretell {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(5);
constexpr int kFailureStatus = 1;

/// This process's ends of its forked children's channels: a child that held
/// one of another would keep that one from seeing its end.
std::set<int>& ParentEnds() {
  static std::set<int> ends;
  return ends;
}

void Limit(__rlimit_resource_t resource,
           const std::optional<std::int64_t>& most) {
  if (!most) return;
  rlimit limit = {};
  getrlimit(resource, &limit);
  limit.rlim_cur = std::min(static_cast<rlim_t>(*most), limit.rlim_max);
  limit.rlim_max = limit.rlim_cur;
  if (setrlimit(resource, &limit) != 0) {
    throw IoFailure("limit of {}: {}", *most, SystemMessage(errno));
  }
}

void Apply(const ProcessLimits& limits) {
  Limit(RLIMIT_AS, limits.memory_bytes);
  Limit(RLIMIT_CPU, limits.cpu_s);
  Limit(RLIMIT_FSIZE, limits.file_bytes);
  Limit(RLIMIT_CORE, limits.core_bytes);
}

/// All that a forked child does.
[[noreturn]] void RunForked(const ProcessLimits& limits, Channel& channel,
                            const std::function<void(Channel&)>& work) {
  try {
    Apply(limits);
    work(channel);
  } catch (const std::exception& error) {
    channel.SendError(error);
    _exit(kFailureStatus);
  } catch (...) {
    _exit(kFailureStatus);
  }
  _exit(0);
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  if (name == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", name, signal);
}

}  // namespace

std::string ToString(const ProcessEnd& end) {
  switch (end.kind) {
    case ProcessEnd::Kind::kDeadline:
      return "killed at its deadline";
    case ProcessEnd::Kind::kThreads:
      return "killed for starting too many threads";
    case ProcessEnd::Kind::kSignalled:
      return "ended by " + SignalName(end.signal);
    case ProcessEnd::Kind::kExited:
      break;
  }
  return fmt::format("ended with status {}", end.status);
}

ChildProcess ChildProcess::Fork(const ProcessLimits& limits,
                                const std::function<void(Channel&)>& work) {
  std::erase_if(Abandoned(),
                [](ChildProcess& child) { return child.Poll().has_value(); });
  auto [mine, its] = MakeChannel();
  const pid_t parent = getpid();
  // What is not written yet would be written by both.
  std::fflush(nullptr);
  const pid_t id = fork();
  if (id < 0) throw IoFailure("fork: {}", SystemMessage(errno));
  if (id == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kFailureStatus);
    for (const int end : ParentEnds()) close(end);
    // Their numbers may belong to other files in a child of this one.
    ParentEnds().clear();
    ForgetAbandoned();
    close(mine.end().number());
    RunForked(limits, its, work);
  }
  ParentEnds().insert(mine.end().number());
  return ChildProcess(id, std::move(mine));
}

std::vector<ChildProcess>& ChildProcess::Abandoned() {
  // Never destroyed: children left at the end are reaped by the system.
  static auto* const abandoned = new std::vector<ChildProcess>;
  return *abandoned;
}

void ChildProcess::Abandon(ChildProcess child) {
  std::erase_if(Abandoned(),
                [](ChildProcess& other) { return other.Poll().has_value(); });
  if (child.id_ < 0 || child.end_) return;
  kill(child.id_, SIGKILL);
  Abandoned().push_back(std::move(child));
}

void ChildProcess::BuryAbandoned() { Abandoned().clear(); }

void ChildProcess::ForgetAbandoned() {
  for (ChildProcess& child : Abandoned()) child.id_ = -1;
  Abandoned().clear();
}

ChildProcess::ChildProcess(pid_t id, Channel channel)
    : id_(id), channel_(std::move(channel)) {}

ChildProcess::~ChildProcess() {
  if (id_ >= 0) Kill();
  if (channel_) ParentEnds().erase(channel_->end().number());
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept { Swap(other); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  Swap(other);
  return *this;
}

void ChildProcess::Swap(ChildProcess& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(deadline_, other.deadline_);
  std::swap(channel_, other.channel_);
  std::swap(end_, other.end_);
}

std::optional<ProcessEnd> ChildProcess::Poll() {
  if (end_) return end_;
  if (HasEnded()) return Bury();
  if (!deadline_.HasPassed()) return std::nullopt;
  Kill();
  // Unless it ended by itself in the meantime.
  if (end_->signal == SIGKILL) end_->kind = ProcessEnd::Kind::kDeadline;
  return end_;
}

ProcessEnd ChildProcess::Wait(const std::function<void()>& meanwhile) {
  while (true) {
    if (const std::optional<ProcessEnd> end = Poll()) return *end;
    if (meanwhile) meanwhile();
    std::this_thread::sleep_for(kPollInterval);
  }
}

ProcessEnd ChildProcess::Kill() {
  if (end_) return *end_;
  kill(id_, SIGKILL);
  return Bury();
}

bool ChildProcess::HasEnded() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(id_), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == id_;
}

/// Waits for a process that has ended or is about to, and for nothing else.
ProcessEnd ChildProcess::Bury() {
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  int status = 0;
  rusage usage = {};
  while (wait4(id_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  end_ = WIFSIGNALED(status) ? ProcessEnd{.kind = ProcessEnd::Kind::kSignalled,
                                          .signal = WTERMSIG(status)}
                             : ProcessEnd{.status = WEXITSTATUS(status)};
  end_->peak_bytes = usage.ru_maxrss * kKiB;
  return *end_;
}

}  // namespace foretell
