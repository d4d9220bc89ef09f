#include "src/sandbox/run_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>

#include "foretell/error.h"
#include "src/core/descriptor.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/units.h"

namespace foretell::sandbox {
namespace {

constexpr std::int64_t kMostLogBytes = 64 * kMiB;
constexpr std::array<std::string_view, 3> kTrouble = {
    "ERROR: ", "Error: ", "Exception: "};

std::vector<char*> Arguments(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void FailToStart(const std::string& what) {
  throw IoFailure("{}: {}", what, SystemMessage(errno));
}

/// Points the standard streams of this process at nothing and at the log.
void Redirect(const std::string& log) {
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(
      open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!nothing.is_open() || !output.is_open()) FailToStart(log);
  dup2(nothing.number(), STDIN_FILENO);
  dup2(output.number(), STDOUT_FILENO);
  dup2(output.number(), STDERR_FILENO);
}

/// The work of the child; the program inherits only the standard streams.
void Become(Command command) {
  Redirect(command.log);
  if (chdir(command.folder.c_str()) != 0) FailToStart(command.folder);
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  std::vector<char*> arguments = Arguments(command.argv);
  if (command.locks) {
    command.locks->program = arguments[0];
    LockProgram(*command.locks);
  }
  if (command.environment) {
    execvpe(arguments[0], arguments.data(),
            Arguments(*command.environment).data());
  } else {
    execvp(arguments[0], arguments.data());
  }
  FailToStart(command.argv.front());
}

/// Threads of a child not yet waited for; 0 if Linux does not report them.
int ThreadsOf(pid_t process) {
  struct stat tasks = {};
  const std::string folder = fmt::format("/proc/{}/task", process);
  // A folder for each, in addition to "." and "..".
  if (stat(folder.c_str(), &tasks) != 0) return 0;
  return static_cast<int>(tasks.st_nlink) - 2;
}

}  // namespace

ProcessEnd Run(const Command& command) {
  ChildProcess child = ChildProcess::Fork(
      command.limits, [&command](Channel&) { Become(command); });
  child.SetDeadline(command.deadline_s);
  // Throws what kept it from starting; its end of the channel closes when it
  // has.
  child.channel().Receive();
  bool has_too_many = false;
  ProcessEnd end = child.Wait([&] {
    if (command.watch) command.watch(child.id());
    if (command.most_threads == 0) return;
    if (ThreadsOf(child.id()) <= command.most_threads) return;
    has_too_many = true;
    child.SetDeadline(0);
  });
  if (has_too_many) end.kind = ProcessEnd::Kind::kThreads;
  return end;
}

std::string LastWords(const std::string& log) {
  std::istringstream lines(ReadFile(log, kMostLogBytes));
  std::string last;
  std::string trouble;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last = line;
    if (std::ranges::any_of(kTrouble, [&line](std::string_view word) {
          return line.find(word) != std::string::npos;
        })) {
      trouble = line;
    }
  }
  return trouble.empty() ? last : trouble;
}

}  // namespace foretell::sandbox
