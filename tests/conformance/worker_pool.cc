// Each process owns every n-th task and writes one line to a pipe as each ends.
// A pipe that closes early, or stays silent for too long, belongs to the first
// task without a line; the process is replaced by one that starts behind it.

#include "tests/conformance/worker_pool.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

#include "foretell/error.h"

namespace foretell::conformance {
namespace {

using Clock = std::chrono::steady_clock;
using Task = std::function<std::string(size_t)>;

[[noreturn]] void FailSystemCall(const std::string& call) {
  throw Error(ErrorCode::kIo, call + ": " + std::strerror(errno));
}

void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) _exit(EXIT_FAILURE);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

/// A child process and the tasks that it still owns.
struct Worker {
  std::vector<size_t> tasks;
  size_t next = 0;     ///< Index into `tasks`: the one running or to run.
  pid_t process = -1;  ///< -1 when none runs.
  int pipe = -1;       ///< The reading end.
  std::string unread;  ///< Bytes after the last full line.
  Clock::time_point deadline;

  bool IsDone() const { return next == tasks.size(); }
};

[[noreturn]] void RunChild(const Worker& worker, const Task& task,
                           int descriptor) {
  try {
    for (size_t i = worker.next; i < worker.tasks.size(); ++i) {
      WriteAll(descriptor, task(worker.tasks[i]) + "\n");
    }
  } catch (const std::exception&) {
    _exit(EXIT_FAILURE);
  }
  _exit(EXIT_SUCCESS);
}

void Start(Worker& worker, const Task& task, const PoolOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) FailSystemCall("pipe");
  worker.process = fork();
  if (worker.process < 0) FailSystemCall("fork");
  if (worker.process == 0) {
    close(ends[0]);
    RunChild(worker, task, ends[1]);
  }
  close(ends[1]);
  worker.pipe = ends[0];
  worker.unread.clear();
  worker.deadline = Clock::now() + options.patience;
}

/// Waits for the process to end and says how it did.
std::string Reap(Worker& worker) {
  int status = 0;
  waitpid(worker.process, &status, 0);
  close(worker.pipe);
  worker.process = -1;
  worker.pipe = -1;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "killed by signal " + std::to_string(number) + " (" +
           strsignal(number) + ")";
  }
  return "ended its process with status " + std::to_string(WEXITSTATUS(status));
}

/// Takes what the pipe holds; false when it has closed.
bool Receive(Worker& worker, const PoolOptions& options,
             std::vector<TaskResult>& results) {
  char buffer[1 << 16];
  const ssize_t size = read(worker.pipe, buffer, sizeof(buffer));
  if (size <= 0) return false;
  worker.unread.append(buffer, static_cast<size_t>(size));
  for (size_t end; (end = worker.unread.find('\n')) != std::string::npos;) {
    results[worker.tasks[worker.next++]] = {true, worker.unread.substr(0, end)};
    worker.unread.erase(0, end + 1);
    worker.deadline = Clock::now() + options.patience;
  }
  return true;
}

/// Ends the worker's process and blames the task that it was at, if any.
void Stop(Worker& worker, const std::string& reason,
          std::vector<TaskResult>& results) {
  const std::string end = Reap(worker);
  if (worker.IsDone()) return;
  results[worker.tasks[worker.next++]] = {false, reason.empty() ? end : reason};
}

void Attend(Worker& worker, bool readable, const PoolOptions& options,
            std::vector<TaskResult>& results) {
  if (readable) {
    if (!Receive(worker, options, results)) Stop(worker, "", results);
  } else if (Clock::now() > worker.deadline) {
    kill(worker.process, SIGKILL);
    Stop(worker,
         "took more than " + std::to_string(options.patience.count()) + " s",
         results);
  }
}

/// One round: starts idle workers, waits for news, handles them. False when all
/// tasks are done.
bool Turn(std::vector<Worker>& workers, const Task& task,
          const PoolOptions& options, std::vector<TaskResult>& results) {
  std::vector<Worker*> running;
  std::vector<pollfd> descriptors;
  for (Worker& worker : workers) {
    if (worker.process < 0 && !worker.IsDone()) Start(worker, task, options);
    if (worker.process < 0) continue;
    running.push_back(&worker);
    descriptors.push_back({.fd = worker.pipe, .events = POLLIN, .revents = 0});
  }
  if (running.empty()) return false;
  constexpr int kTickMs = 200;
  if (poll(descriptors.data(), descriptors.size(), kTickMs) < 0 &&
      errno != EINTR) {
    FailSystemCall("poll");
  }
  for (size_t i = 0; i < running.size(); ++i) {
    Attend(*running[i], descriptors[i].revents != 0, options, results);
  }
  return true;
}

}  // namespace

std::vector<TaskResult> RunIsolated(size_t count, const Task& task,
                                    const PoolOptions& options) {
  std::vector<TaskResult> results(count);
  const size_t processes = static_cast<size_t>(std::max(1, options.processes));
  std::vector<Worker> workers(std::min(processes, count));
  for (size_t i = 0; i < count; ++i) {
    workers[i % workers.size()].tasks.push_back(i);
  }
  while (Turn(workers, task, options, results)) {
  }
  return results;
}

}  // namespace foretell::conformance
