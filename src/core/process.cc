// A forked child leaves by _exit alone: no destructor, handler or buffer of the
// parent runs twice. A program is started by posix_spawn, which is safe beside
// LibTorch's threads, where a fork is not.
//
// An end is first seen and only then waited for (WNOWAIT): until then nobody
// else can get the number, so that killing its process group hits no stranger.

#include "src/core/process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <set>
#include <thread>

#include "foretell/error.h"

extern char** environ;

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
    throw Error(ErrorCode::kIo,
                fmt::format("limit of {}: {}", *most, SystemMessage(errno)));
  }
}

void Apply(const ProcessLimits& limits) {
  Limit(RLIMIT_AS, limits.memory_bytes);
  Limit(RLIMIT_CPU, limits.cpu_s);
  Limit(RLIMIT_FSIZE, limits.file_bytes);
  Limit(RLIMIT_CORE, limits.core_bytes);
}

/// All that a forked child does.
[[noreturn]] void RunForked(const ForkOptions& options, Channel& channel,
                            const std::function<void(Channel&)>& work) {
  try {
    Apply(options.limits);
    if (options.initialize) options.initialize();
    work(channel);
  } catch (const std::exception& error) {
    channel.SendError(error);
    _exit(kFailureStatus);
  } catch (...) {
    _exit(kFailureStatus);
  }
  _exit(0);
}

/// What posix_spawn does in the child before it executes the program.
class SpawnPlan {
 public:
  explicit SpawnPlan(const SpawnOptions& options) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    for (const auto& [number, end] : options.descriptors) {
      posix_spawn_file_actions_adddup2(&actions_, end->number(), number);
    }
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentOf(const SpawnOptions& options) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool replaced = std::ranges::any_of(
        options.environment,
        [&name](const auto& variable) { return variable.first == name; });
    if (!replaced) all.push_back(text);
  }
  for (const auto& [name, value] : options.environment) {
    all.push_back(fmt::format("{}={}", name, value));
  }
  return all;
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
    case ProcessEnd::Kind::kSignalled:
      return "ended by " + SignalName(end.signal);
    case ProcessEnd::Kind::kExited:
      break;
  }
  return fmt::format("ended with status {}", end.status);
}

ChildProcess ChildProcess::Fork(const ForkOptions& options,
                                const std::function<void(Channel&)>& work) {
  std::erase_if(Abandoned(),
                [](ChildProcess& child) { return child.Poll().has_value(); });
  auto [mine, its] = MakeChannel();
  const pid_t parent = getpid();
  const pid_t id = fork();
  if (id < 0) throw Error(ErrorCode::kIo, "fork: " + SystemMessage(errno));
  if (id == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kFailureStatus);
    for (const int end : ParentEnds()) close(end);
    // Their numbers may belong to other files in a child of this one.
    ParentEnds().clear();
    ForgetAbandoned();
    close(mine.end().number());
    RunForked(options, its, work);
  }
  ParentEnds().insert(mine.end().number());
  ChildProcess child(id, /*leads_group=*/false, options.limits.deadline_s);
  child.channel_ = std::move(mine);
  return child;
}

std::vector<ChildProcess>& ChildProcess::Abandoned() {
  // Never destroyed: who is left at the end is buried by the system.
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

ChildProcess ChildProcess::Spawn(const SpawnOptions& options) {
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> environment = EnvironmentOf(options);
  const SpawnPlan plan(options);
  pid_t id = 0;
  const int error =
      posix_spawnp(&id, argv.front().c_str(), plan.actions(), plan.attributes(),
                   Pointers(argv).data(), Pointers(environment).data());
  if (error != 0) {
    throw Error(ErrorCode::kIo,
                fmt::format("{}: {}", argv.front(), SystemMessage(error)));
  }
  return ChildProcess(id, /*leads_group=*/true, options.deadline_s);
}

ChildProcess::ChildProcess(pid_t id, bool leads_group,
                           std::optional<double> deadline_s)
    : id_(id), leads_group_(leads_group) {
  if (deadline_s) deadline_ = Deadline::In(*deadline_s);
}

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
  std::swap(leads_group_, other.leads_group_);
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

ProcessEnd ChildProcess::Wait() {
  while (true) {
    if (const std::optional<ProcessEnd> end = Poll()) return *end;
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
  if (leads_group_) kill(-id_, SIGKILL);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  end_ = WIFSIGNALED(status) ? ProcessEnd{.kind = ProcessEnd::Kind::kSignalled,
                                          .signal = WTERMSIG(status)}
                             : ProcessEnd{.status = WEXITSTATUS(status)};
  return *end_;
}

}  // namespace foretell
