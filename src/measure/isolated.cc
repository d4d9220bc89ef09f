// A child process whose end, whatever it is, is a value.
//
// The child leads a process group of its own, so that a deadline takes its
// children along. Its result has a file descriptor of its own, because a model
// (and LibTorch) may write to stdout and stderr; of those only the end is kept,
// for the message. Reading stops when the child is gone, not when the pipes
// close: a grandchild may hold them open.

#include "src/measure/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "foretell/error.h"
#include "foretell/measure.h"

extern char** environ;

namespace foretell::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 20;
constexpr std::size_t kReadBytes = 65536;
/// Pipes lie above every descriptor that the child gets by number.
constexpr int kFirstDescriptor = 10;

[[noreturn]] void Refuse(const std::string& what, int error) {
  throw Error(ErrorCode::kIo, what + ": " + std::strerror(error));
}

/// One direction; both ends close with it.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> low;
    if (pipe2(low.data(), O_CLOEXEC) != 0) Refuse("pipe", errno);
    for (std::size_t end = 0; end < low.size(); ++end) {
      ends_[end] = fcntl(low[end], F_DUPFD_CLOEXEC, kFirstDescriptor);
      const int error = errno;
      close(low[end]);
      if (ends_[end] < 0) Refuse("pipe", error);
    }
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close(ends_[0]);
    CloseWriteEnd();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseWriteEnd() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

  /// Appends what is there now; false at the end of the stream.
  bool ReadInto(std::string& text) {
    std::array<char, kReadBytes> buffer;
    while (true) {
      const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
      if (count > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(count));
      } else {
        return count < 0 && (errno == EAGAIN || errno == EINTR);
      }
    }
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

/// What posix_spawn does in the child before it executes the program.
class SpawnPlan {
 public:
  SpawnPlan(const Pipe& result, const Pipe& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, log.write_end(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, log.write_end(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, result.write_end(),
                                     kMeasureResultFd);
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

std::vector<std::string> EnvironmentOf(const IsolatedCommand& command) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(
        command.environment.begin(), command.environment.end(),
        [&name](const auto& variable) { return variable.first == name; });
    if (!replaced) all.push_back(text);
  }
  for (const auto& [name, value] : command.environment) {
    all.push_back(name + "=" + value);
  }
  return all;
}

pid_t Spawn(const IsolatedCommand& command, const Pipe& result,
            const Pipe& log) {
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment = EnvironmentOf(command);
  const SpawnPlan plan(result, log);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv.front().c_str(), plan.actions(),
                                 plan.attributes(), Pointers(argv).data(),
                                 Pointers(environment).data());
  if (error != 0) Refuse(argv.front(), error);
  return pid;
}

/// Takes over what the child wrote; false once a stream has ended.
bool Collect(Pipe& result, Pipe& log, IsolatedOutcome& outcome) {
  const bool result_open = result.ReadInto(outcome.result);
  const bool log_open = log.ReadInto(outcome.log);
  if (outcome.result.size() > kMaxResultBytes) {
    outcome.result.resize(kMaxResultBytes);
  }
  if (outcome.log.size() > kMaxLogBytes) {
    outcome.log.erase(0, outcome.log.size() - kMaxLogBytes);
  }
  return result_open && log_open;
}

/// Waits for something to read, or a moment.
void AwaitOutput(const Pipe& result, const Pipe& log, bool open) {
  if (!open) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
    return;
  }
  std::array<pollfd, 2> ends = {
      {{result.read_end(), POLLIN, 0}, {log.read_end(), POLLIN, 0}}};
  poll(ends.data(), ends.size(), kPollMilliseconds);
}

/// Kills what the process group still has and buries the child.
int Bury(pid_t pid, bool is_gone, int status) {
  kill(-pid, SIGKILL);
  if (is_gone) return status;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

IsolatedOutcome RunIsolated(const IsolatedCommand& command) {
  Pipe result;
  Pipe log;
  const SteadyClock::time_point deadline =
      SteadyClock::now() +
      std::chrono::duration_cast<SteadyClock::duration>(
          std::chrono::duration<double>(command.deadline_s));
  const pid_t pid = Spawn(command, result, log);
  result.CloseWriteEnd();
  log.CloseWriteEnd();
  IsolatedOutcome outcome;
  int status = 0;
  bool is_gone = false;
  bool open = true;
  while (!is_gone && SteadyClock::now() < deadline) {
    AwaitOutput(result, log, open);
    is_gone = waitpid(pid, &status, WNOHANG) == pid;
    open = Collect(result, log, outcome);
  }
  status = Bury(pid, is_gone, status);
  if (!is_gone) {
    outcome.end = IsolatedOutcome::End::kDeadline;
  } else if (WIFSIGNALED(status)) {
    outcome.end = IsolatedOutcome::End::kSignalled;
    outcome.signal = WTERMSIG(status);
  } else {
    outcome.exit_status = WEXITSTATUS(status);
  }
  return outcome;
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  const std::string number = std::to_string(signal);
  if (name == nullptr) return "signal " + number;
  return "SIG" + std::string(name) + " (" + number + ")";
}

}  // namespace foretell::measure
