#pragma once

#include <memory>

#include "cli/commands/command.h"
#include "datasets/collect/fill.h"
#include "datasets/collect/generate.h"

namespace foretell::cli {

class ProgressBar;

/// @name Subcommands of `foretell dataset`
/// @{
void AddDatasetGenerate(CLI::App& app, ExitCode& exit_code);
void AddDatasetTrace(CLI::App& app, ExitCode& exit_code);
void AddDatasetImport(CLI::App& app, ExitCode& exit_code);
void AddDatasetMeasure(CLI::App& app, ExitCode& exit_code);
void AddDatasetSimulate(CLI::App& app, ExitCode& exit_code);
void AddDatasetMerge(CLI::App& app, ExitCode& exit_code);
void AddDatasetCheck(CLI::App& app, ExitCode& exit_code);
void AddDatasetStats(CLI::App& app, ExitCode& exit_code);
void AddDatasetSplit(CLI::App& app, ExitCode& exit_code);
void AddDatasetExport(CLI::App& app, ExitCode& exit_code);
/// @}

/// Worker processes when the user gives no number: one per processor.
int DefaultJobs();

/// Prints what a run did and its failures; returns the exit status.
ExitCode PrintSummary(const dataset::FillSummary& summary);
ExitCode PrintSummary(const dataset::GenerateSummary& summary);

/// A progress bar in the form that the stages of `datasets/` expect.
class ProgressOnTerminal {
 public:
  ProgressOnTerminal();
  ~ProgressOnTerminal();
  ProgressOnTerminal(const ProgressOnTerminal&) = delete;
  ProgressOnTerminal& operator=(const ProgressOnTerminal&) = delete;

  /// Valid while this object lives.
  dataset::ProgressFunction function() const;

 private:
  std::unique_ptr<ProgressBar> bar_;
};

}  // namespace foretell::cli
