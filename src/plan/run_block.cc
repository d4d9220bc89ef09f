#include "src/plan/run_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "src/core/failure.h"
#include "src/core/printable.h"
#include "src/core/resident_memory.h"
#include "src/core/units.h"
#include "src/core/work_folder.h"
#include "src/sandbox/run_program.h"

namespace foretell::plan {
namespace {

constexpr std::size_t kMostWords = 300;
constexpr double kSecondsOfNothing = 60;

/// Refuses a command that is only ":" to the shell, or nothing at all: each
/// block would be measured as the memory of a shell.
void RefuseNothing(const std::string& command) {
  std::string words = command;
  for (std::size_t at = words.find(kShapePlace); at != std::string::npos;
       at = words.find(kShapePlace)) {
    words.erase(at, std::string_view(kShapePlace).size());
  }
  if (words.find_first_not_of(" \t\n:;") != std::string::npos) return;
  throw InvalidArgument("command '{}': runs nothing", command);
}

std::string WithShape(std::string command, const std::string& sizes) {
  RefuseNothing(command);
  constexpr std::string_view kPlace = kShapePlace;
  std::size_t at = command.find(kPlace);
  if (at == std::string::npos) {
    throw InvalidArgument("command '{}': has no {}", command, kShapePlace);
  }
  for (; at != std::string::npos; at = command.find(kPlace, at)) {
    command.replace(at, kPlace.size(), sizes);
    at += sizes.size();
  }
  return command;
}

[[noreturn]] void FailToRun(const std::string& line, const ProcessEnd& end,
                            const std::string& log) {
  const std::string words =
      Printable(sandbox::LastWords(log)).substr(0, kMostWords);
  throw Unsupported("'{}': {}{}{}", line, ToString(end),
                    words.empty() ? "" : ": ", words);
}

/// The shell has been killed; what it had started would go on, and use memory
/// that the next runs need. `tree` is of its last moment, the shell first.
void KillStarted(const std::vector<pid_t>& tree) {
  for (std::size_t i = 1; i < tree.size(); ++i) kill(tree[i], SIGKILL);
}

/// The peak reported for a command that uses nothing: a process that does not
/// use more cannot be told from this one, whose copy it was.
std::int64_t InheritedPeak(const WorkFolder& work) {
  return sandbox::Run({.argv = {"/bin/sh", "-c", ":"},
                       .folder = work.path(),
                       .log = work / "nothing.txt",
                       .deadline_s = kSecondsOfNothing})
      .peak_bytes;
}

}  // namespace

std::int64_t MeasurePeak(const std::string& command,
                         const std::vector<std::int64_t>& shape,
                         double deadline_s) {
  const std::string line =
      WithShape(command, fmt::format("{}", fmt::join(shape, ",")));
  const WorkFolder work;
  const std::string log = work / "log.txt";
  std::int64_t seen = 0;
  std::vector<pid_t> tree;
  const ProcessEnd end =
      sandbox::Run({.argv = {"/bin/sh", "-c", line},
                    .folder = std::filesystem::current_path(),
                    .log = log,
                    .deadline_s = deadline_s,
                    .watch = [&](pid_t process) {
                      tree = ProcessTree(process);
                      seen = std::max(seen, LargestPeakOfTree(process));
                    }});
  if (end.kind == ProcessEnd::Kind::kDeadline) KillStarted(tree);
  if (end.kind != ProcessEnd::Kind::kExited || end.status != 0) {
    FailToRun(line, end, log);
  }
  if (end.peak_bytes > InheritedPeak(work) + kMiB) {
    return std::max(seen, end.peak_bytes);
  }
  if (seen > 0) return seen;
  throw Unsupported("'{}': ended before its memory could be read", line);
}

}  // namespace foretell::plan
