#include "cli/commands/lab_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "src/core/failure.h"

namespace foretell::cli {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";
constexpr char kLabName[] = "foretell-lab";

}  // namespace

const CommandRow* CalledCommand(std::span<char* const> arguments,
                                std::span<const CommandRow> commands) {
  for (const std::string_view word : arguments.subspan(1)) {
    if (word.starts_with('-')) continue;
    const auto row = std::ranges::find(commands, word, &CommandRow::name);
    return row == commands.end() ? nullptr : &*row;
  }
  return nullptr;
}

std::filesystem::path LabProgram() {
  return std::filesystem::read_symlink(kThisProgram).replace_filename(kLabName);
}

void GoOnAs(const std::filesystem::path& lab,
            std::span<char* const> arguments) {
  std::string program = lab;
  std::vector<char*> words(arguments.begin(), arguments.end());
  words.front() = program.data();
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  const int error = errno;
  if (error == ENOENT) {
    throw Unsupported(
        "{}: missing; it has this command, and those that train, measure and "
        "manage datasets. `scripts/build {}` builds it",
        program, kLabName);
  }
  throw IoFailure("{}: cannot be started: {}", program, std::strerror(error));
}

void PassOnToLab(std::span<char* const> arguments,
                 std::span<const CommandRow> commands) {
  const bool complete = std::ranges::none_of(
      commands, [](const CommandRow& row) { return row.add == nullptr; });
  if (complete) return;
  const CommandRow* called = CalledCommand(arguments, commands);
  if (called == nullptr || called->home == Home::kForetell) return;
  const std::filesystem::path lab = LabProgram();
  if (called->home == Home::kLabIfBuilt && !std::filesystem::exists(lab)) {
    return;
  }
  GoOnAs(lab, arguments);
}

}  // namespace foretell::cli
