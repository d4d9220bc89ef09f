#include "cli/commands/dataset.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <thread>

#include "cli/print/print_summaries.h"
#include "cli/print/progress_bar.h"

namespace foretell::cli {
namespace {

constexpr AddCommand kDatasetCommands[] = {
    &AddDatasetGenerate, &AddDatasetTrace,    &AddDatasetImport,
    &AddDatasetMeasure,  &AddDatasetSimulate, &AddDatasetMerge,
    &AddDatasetCheck,    &AddDatasetStats,    &AddDatasetSplit,
    &AddDatasetExport,
};

template <typename Summary>
ExitCode Print(const Summary& summary) {
  std::cout << FormatSummary(summary);
  std::cerr << FormatSome(summary.failures);
  return summary.failed + summary.given_up == 0 ? kExitOk : kExitModelFailed;
}

}  // namespace

int DefaultJobs() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ExitCode PrintSummary(const dataset::FillSummary& summary) {
  return Print(summary);
}

ExitCode PrintSummary(const dataset::GenerateSummary& summary) {
  return Print(summary);
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
