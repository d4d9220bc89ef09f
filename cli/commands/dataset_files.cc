#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/dataset.h"
#include "cli/print/print_summaries.h"
#include "datasets/store/merge.h"
#include "foretell/dataset.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

struct MergeCommand {
  std::vector<std::string> inputs;
  std::string out;
  dataset::MergeOptions options;
};

ExitCode RunMerge(const MergeCommand& command) {
  const dataset::MergeSummary summary =
      MergeDatasets(command.inputs, command.out, command.options);
  std::cout << FormatSummary(command.out, summary);
  std::cerr << FormatSome(summary.damage);
  return summary.damage.empty() ? kExitOk : kExitModelFailed;
}

ExitCode RunCheck(const std::string& path) {
  const std::vector<Damage> damage = CheckDataset(path);
  if (damage.empty()) {
    std::cout << fmt::format("{}: sound\n", Printable(path));
    return kExitOk;
  }
  for (const Damage& found : damage) {
    std::cout << Printable(fmt::format("{}: {}", path, ToString(found)))
              << "\n";
  }
  return kExitModelFailed;
}

}  // namespace

void AddDatasetMerge(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<MergeCommand>();
  CLI::App* command =
      app.add_subcommand("merge", "Merge the files of several workers");
  command->add_option("DATASET", options->inputs, "Datasets")->required();
  command->add_option("-o,--out", options->out, "Dataset; created if missing")
      ->required();
  command->add_flag("--salvage", options->options.salvage,
                    "Salvage intact rows from damaged files");
  command->callback([options, &exit_code] { exit_code = RunMerge(*options); });
}

void AddDatasetCheck(CLI::App& app, ExitCode& exit_code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "check", "Check for damage: pages, schema, checksums, references");
  command->add_option("DATASET", *path, "Dataset")->required();
  command->callback([path, &exit_code] { exit_code = RunCheck(*path); });
}

}  // namespace foretell::cli
