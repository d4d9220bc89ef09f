#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/dataset.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/print/print_summaries.h"
#include "datasets/views/export.h"
#include "datasets/views/split.h"
#include "datasets/views/stats.h"
#include "foretell/dataset.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

struct StatsCommand {
  std::string dataset;
  bool json = false;
  std::string html;
};

ExitCode RunStats(const StatsCommand& command) {
  const dataset::Stats stats =
      dataset::ComputeStats(Dataset::Open(command.dataset));
  if (!command.html.empty()) {
    WriteWhole(command.html, StatsToHtml(stats));
  }
  if (command.json) {
    std::cout << StatsToJson(stats) << "\n";
  } else {
    std::cout << FormatStats(stats);
  }
  return kExitOk;
}

struct SplitCommand {
  std::string dataset;
  std::string kind = "random";
  std::uint64_t seed = 0;
  std::string family;
  std::string name;
};

/// "random-0", "family-resnet-0".
std::string SplitName(const SplitCommand& command, const std::string& family) {
  if (!command.name.empty()) return command.name;
  return family.empty()
             ? fmt::format("{}-{}", command.kind, command.seed)
             : fmt::format("{}-{}-{}", command.kind, family, command.seed);
}

ExitCode RunSplit(const SplitCommand& command) {
  Dataset dataset = Dataset::OpenForWriting(command.dataset);
  const dataset::SplitKind kind = dataset::ParseSplitKind(command.kind);
  const std::vector<StoredPoint> points = dataset.Points();
  std::vector<std::string> families = {command.family};
  if (kind == dataset::SplitKind::kFamily && command.family.empty()) {
    families = dataset::FamiliesOf(points);
  }
  for (const std::string& family : families) {
    const std::string name = SplitName(command, family);
    const std::map<RowId, std::string> parts =
        MakeSplit(points, kind, command.seed, family);
    dataset.PutSplit(name, command.kind, command.seed, parts);
    std::map<std::string, std::int64_t> counts;
    for (const auto& [point, part] : parts) ++counts[part];
    std::cout << fmt::format("{}: {} train, {} validation, {} test\n",
                             Printable(name), counts["train"],
                             counts["validation"], counts["test"]);
  }
  return kExitOk;
}

struct ExportCommand {
  std::string dataset;
  std::string out;
  std::string format = "csv+npz";
};

ExitCode RunExport(const ExportCommand& command) {
  const ProgressOnTerminal progress;
  const std::int64_t points =
      dataset::ExportDataset(Dataset::Open(command.dataset), command.out,
                             {.progress = progress.function()});
  std::cout << fmt::format("{}: {}\n", Printable(command.out),
                           Counted(points, "point"));
  return kExitOk;
}

}  // namespace

void AddDatasetStats(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<StatsCommand>();
  CLI::App* command = app.add_subcommand(
      "stats", "Counts, label coverage, distributions and outliers");
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_option("--html", options->html, "Page with pictures");
  command->callback([options, &exit_code] { exit_code = RunStats(*options); });
}

void AddDatasetSplit(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<SplitCommand>();
  CLI::App* command = app.add_subcommand(
      "split", "Divide the points into train, validation and test parts");
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  AddDefaulted(*command, "--kind", options->kind,
               "random: 70/15/15; configuration: the same, but keeps the "
               "batches of a model together; family: tests on one family",
               CLI::IsMember({"random", "configuration", "family"}));
  AddDefaulted(*command, "--seed", options->seed, "Another division");
  command->add_option(
      "--family", options->family,
      "Test family for --kind family; default: one split per family");
  command->add_option("--name", options->name,
                      "Name of the split; default: from kind, family and seed");
  command->callback([options, &exit_code] { exit_code = RunSplit(*options); });
}

void AddDatasetExport(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand(
      "export", "Write tables and arrays for other programs");
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  command->add_option("-o,--out", options->out, "Folder; created if missing")
      ->required();
  AddDefaulted(*command, "--format", options->format, "Tables and arrays",
               CLI::IsMember({"csv+npz"}));
  command->callback([options, &exit_code] { exit_code = RunExport(*options); });
}

}  // namespace foretell::cli
