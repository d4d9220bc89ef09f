// A worker is a forked copy of this process at the other end of two pipes: one
// brings it the numbers of tasks, the other takes away what came of them. It
// asks for nothing, so that a worker that crashes in the middle of a foreign
// model leaves no lock and no half-written row behind: all writing is done
// here. Which task it was working on is known, and only that one is lost.

#include "datasets/collect/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include "datasets/collect/bytes.h"
#include "foretell/error.h"

namespace foretell::dataset {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<std::string(std::int64_t)>;

constexpr int kPollMs = 100;
/// Kind and length in front of a worker's text.
constexpr std::size_t kHeaderBytes = 1 + sizeof(std::uint64_t);

Error SystemError(const char* call) {
  return Error(ErrorCode::kIo, std::string(call) + ": " + std::strerror(errno));
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool ReadAll(int file, void* data, std::size_t size) {
  auto* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = read(file, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

/// What a worker does until its pipe is closed; never returns.
[[noreturn]] void Serve(int tasks, int results, const Work& work) {
  std::int64_t task = 0;
  while (ReadAll(tasks, &task, sizeof(task))) {
    TaskOutcome outcome;
    try {
      outcome.text = work(task);
    } catch (const std::exception& error) {
      outcome = {TaskOutcome::Kind::kFailed, error.what()};
    }
    ByteWriter message;
    message.Number(outcome.kind);
    message.Text(outcome.text);
    if (!WriteAll(results, message.Take())) break;
  }
  _exit(0);
}

struct PipeEnds {
  int read_end = -1;
  int write_end = -1;
};

PipeEnds MakePipe() {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemError("pipe2");
  return {ends[0], ends[1]};
}

std::string HowItDied(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("the worker process was ended by signal ") +
           std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "the worker process ended with status " +
         std::to_string(WEXITSTATUS(status));
}

struct Worker {
  pid_t process = -1;
  int tasks = -1;
  int results = -1;
  std::optional<std::int64_t> task;
  Clock::time_point started;
  std::string received;
};

class Pool {
 public:
  Pool(std::span<const std::int64_t> tasks, const WorkerOptions& options,
       const Work& work,
       const std::function<void(std::int64_t, const TaskOutcome&)>& done)
      : tasks_(tasks), options_(options), work_(work), done_(done) {
    // A worker that has died must not end this process when it is written to.
    previous_ = std::signal(SIGPIPE, SIG_IGN);
  }
  ~Pool() {
    for (Worker& worker : workers_) Stop(worker, SIGKILL);
    std::signal(SIGPIPE, previous_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void Run() {
    const std::size_t wanted = std::min<std::size_t>(
        static_cast<std::size_t>(std::max(options_.workers, 1)), tasks_.size());
    workers_.resize(wanted);
    for (Worker& worker : workers_) Start(worker);
    while (std::ranges::any_of(workers_, &IsBusy)) Wait();
  }

 private:
  static bool IsBusy(const Worker& worker) { return worker.task.has_value(); }

  void Start(Worker& worker) {
    if (next_ == tasks_.size()) return;
    if (worker.process < 0) Fork(worker);
    worker.task = tasks_[next_++];
    worker.started = Clock::now();
    const std::int64_t task = *worker.task;
    // A failure shows as the worker's end when its results are read.
    WriteAll(worker.tasks,
             {reinterpret_cast<const char*>(&task), sizeof(task)});
  }

  void Fork(Worker& worker) {
    const PipeEnds tasks = MakePipe();
    const PipeEnds results = MakePipe();
    const pid_t parent = getpid();
    worker.process = fork();
    if (worker.process < 0) throw SystemError("fork");
    if (worker.process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      CloseOthers();
      close(tasks.write_end);
      close(results.read_end);
      Serve(tasks.read_end, results.write_end, work_);
    }
    close(tasks.read_end);
    close(results.write_end);
    worker.tasks = tasks.write_end;
    worker.results = results.read_end;
    fcntl(worker.results, F_SETFL, O_NONBLOCK);
  }

  /// In a new worker: drops this process's ends of the other workers' pipes.
  void CloseOthers() {
    for (const Worker& worker : workers_) {
      if (worker.tasks >= 0) close(worker.tasks);
      if (worker.results >= 0) close(worker.results);
    }
  }

  void Wait() {
    std::vector<pollfd> files;
    for (const Worker& worker : workers_) {
      files.push_back({IsBusy(worker) ? worker.results : -1, POLLIN, 0});
    }
    if (poll(files.data(), files.size(), kPollMs) < 0 && errno != EINTR) {
      throw SystemError("poll");
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents != 0) Receive(workers_[i]);
      if (IsBusy(workers_[i]) && IsLate(workers_[i])) GiveUp(workers_[i]);
    }
  }

  bool IsLate(const Worker& worker) const {
    const std::chrono::duration<double> passed = Clock::now() - worker.started;
    return passed.count() > options_.deadline_s;
  }

  void Receive(Worker& worker) {
    std::array<char, 1 << 16> buffer;
    const ssize_t count = read(worker.results, buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      Finish(worker, {TaskOutcome::Kind::kDied, HowItDied(Stop(worker, 0))});
      return;
    }
    worker.received.append(buffer.data(), static_cast<std::size_t>(count));
    if (worker.received.size() < kHeaderBytes) return;
    ByteReader reader(worker.received);
    TaskOutcome outcome{reader.Number<TaskOutcome::Kind>(), {}};
    const auto length = reader.Number<std::uint64_t>();
    if (worker.received.size() < kHeaderBytes + length) return;
    outcome.text = worker.received.substr(kHeaderBytes);
    Finish(worker, outcome);
  }

  void GiveUp(Worker& worker) {
    Stop(worker, SIGKILL);
    Finish(worker,
           {TaskOutcome::Kind::kTimedOut,
            "stopped after the deadline of " +
                std::to_string(static_cast<std::int64_t>(options_.deadline_s)) +
                " s"});
  }

  void Finish(Worker& worker, const TaskOutcome& outcome) {
    const std::int64_t task = *worker.task;
    worker.task.reset();
    worker.received.clear();
    Start(worker);
    done_(task, outcome);
  }

  /// Closes the pipes and returns the status of the process.
  static int Stop(Worker& worker, int signal) {
    if (worker.process < 0) return 0;
    if (signal != 0) kill(worker.process, signal);
    close(worker.tasks);
    close(worker.results);
    int status = 0;
    while (waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    worker.process = worker.tasks = worker.results = -1;
    return status;
  }

  std::span<const std::int64_t> tasks_;
  const WorkerOptions& options_;
  const Work& work_;
  const std::function<void(std::int64_t, const TaskOutcome&)>& done_;
  std::size_t next_ = 0;
  std::vector<Worker> workers_;
  void (*previous_)(int) = SIG_DFL;
};

}  // namespace

void RunInWorkers(
    std::span<const std::int64_t> tasks, const WorkerOptions& options,
    const std::function<std::string(std::int64_t)>& work,
    const std::function<void(std::int64_t, const TaskOutcome&)>& done) {
  Pool(tasks, options, work, done).Run();
}

}  // namespace foretell::dataset
