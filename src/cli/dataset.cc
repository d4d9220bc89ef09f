#include "src/cli/dataset.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <thread>

#include "src/core/text_table.h"

namespace foretell::cli {
namespace {

constexpr std::array<AddCommand, 2> kCommands = {
    &AddDatasetGenerate,
    &AddDatasetCheck,
};

constexpr std::size_t kLinesShown = 20;

}  // namespace

int DefaultJobs() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void PrintSome(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < std::min(lines.size(), kLinesShown); ++i) {
    std::cerr << "  " << OneLine(lines[i]) << "\n";
  }
  if (lines.size() > kLinesShown) {
    std::cerr << "  … and " << lines.size() - kLinesShown << " more\n";
  }
}

std::string Counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void AddDataset(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command = app.add_subcommand(
      "dataset", "Graphs and labels of many networks in one file");
  command->require_subcommand(1);
  for (const AddCommand add : kCommands) add(*command, exit_code);
}

}  // namespace foretell::cli
