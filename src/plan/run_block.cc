#include "src/plan/run_block.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "foretell/error.h"
#include "src/core/printable.h"
#include "src/core/resident_memory.h"
#include "src/core/text.h"
#include "src/core/work_folder.h"
#include "src/sandbox/run_program.h"

namespace foretell::plan {
namespace {

constexpr std::size_t kMostWords = 300;

std::string WithShape(std::string command, const std::string& sizes) {
  constexpr std::string_view kPlace = kShapePlace;
  std::size_t at = command.find(kPlace);
  if (at == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("command '{}': has no {}", Printable(command),
                            kShapePlace));
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
  throw Error(ErrorCode::kUnsupported,
              fmt::format("'{}': {}{}{}", Printable(line), ToString(end),
                          words.empty() ? "" : ": ", words));
}

}  // namespace

std::string SizesText(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> words;
  for (const std::int64_t size : shape) {
    words.push_back(fmt::format("{}", size));
  }
  return Joined(words, ",");
}

std::int64_t MeasurePeak(const std::string& command,
                         const std::vector<std::int64_t>& shape,
                         double deadline_s) {
  const std::string line = WithShape(command, SizesText(shape));
  const WorkFolder work;
  const std::string log = work / "log.txt";
  std::int64_t peak = 0;
  const ProcessEnd end =
      sandbox::Run({.argv = {"/bin/sh", "-c", line},
                    .folder = std::filesystem::current_path(),
                    .log = log,
                    .deadline_s = deadline_s,
                    .watch = [&peak](pid_t process) {
                      peak = std::max(peak, LargestPeakOfTree(process));
                    }});
  if (end.kind != ProcessEnd::Kind::kExited || end.status != 0) {
    FailToRun(line, end, log);
  }
  if (peak > 0) return peak;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("'{}': ended before its memory could be read",
                          Printable(line)));
}

}  // namespace foretell::plan
