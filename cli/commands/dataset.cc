#include "cli/commands/dataset.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <thread>

#include "cli/print/progress_bar.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr AddCommand kDatasetCommands[] = {
    &AddDatasetGenerate, &AddDatasetImport, &AddDatasetMeasure,
    &AddDatasetSimulate, &AddDatasetMerge,  &AddDatasetCheck,
    &AddDatasetStats,    &AddDatasetSplit,  &AddDatasetExport,
};

constexpr std::size_t kLinesShown = 20;

}  // namespace

int DefaultJobs() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void PrintSome(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < std::min(lines.size(), kLinesShown); ++i) {
    std::cerr << "  " << Printable(lines[i]) << "\n";
  }
  if (lines.size() > kLinesShown) {
    std::cerr << "  … and " << lines.size() - kLinesShown << " more\n";
  }
}

ExitCode PrintFilled(const dataset::FillSummary& summary) {
  std::cout << Counted(summary.points, "point") << ": " << summary.labelled
            << " labelled, " << summary.present << " present, "
            << summary.failed << " failed, " << summary.given_up
            << " given up before, " << summary.left << " left\n";
  PrintSome(summary.failures);
  return summary.failed + summary.given_up == 0 ? kExitOk : kExitModelFailed;
}

std::string Counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

ProgressOnTerminal::ProgressOnTerminal()
    : bar_(std::make_unique<ProgressBar>()) {}
ProgressOnTerminal::~ProgressOnTerminal() = default;

dataset::ProgressFunction ProgressOnTerminal::function() const {
  return [bar = bar_.get()](const dataset::Progress& progress) {
    bar->Show(progress.done, progress.total, progress.failed, progress.current);
  };
}

void AddDataset(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command = app.add_subcommand(
      "dataset", "Graphs and labels of many networks in one file");
  command->require_subcommand(1);
  for (const AddCommand add : kDatasetCommands) add(*command, exit_code);
}

}  // namespace foretell::cli
