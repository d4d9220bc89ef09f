#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/training_progress.h"
#include "cli/flags/learning_flags.h"
#include "foretell/error.h"
#include "foretell/version.h"
#include "src/core/output_file.h"
#include "training/fit/run_folder.h"
#include "training/judge/comparison.h"
#include "training/judge/result_cache.h"

namespace foretell::cli {
namespace {

using training::ComparisonCell;
using training::Part;

struct CompareCommand {
  SampleFlags samples;
  LearningFlags learning;
  std::vector<std::string> networks = NetworkNames(/*with_terms=*/false);
  std::vector<std::uint64_t> seeds = {0, 1, 2};
  std::string out;
  bool json = false;
  bool markdown = false;
};

std::vector<training::TrainerOptions> Cells(const CompareCommand& command) {
  std::vector<training::TrainerOptions> cells;
  for (const std::string& network : command.networks) {
    for (const std::uint64_t seed : command.seeds) {
      cells.push_back(
          command.learning.ToOptions(*learned::ParseNetworkKind(network)));
      cells.back().seed = seed;
    }
  }
  return cells;
}

std::string NameOf(const training::TrainerOptions& options) {
  return std::string(NetworkKindName(options.network.kind)) + "-" +
         std::to_string(options.seed);
}

/// Where results are kept: a folder, for exactly this experiment.
training::ResultCache CacheOf(const CompareCommand& command,
                              const training::TrainerOptions& options,
                              const training::SampleSet& set) {
  return {command.out + "/cells",
          {{"version", kVersion},
           {"samples", nlohmann::json::parse(command.samples.ToJson())},
           {"count", set.samples.size()},
           {"options", TrainerOptionsToJson(options)}}};
}

void Print(const CompareCommand& command, const training::SampleSet& set,
           const training::TrainingData& data,
           const std::vector<ComparisonCell>& cells) {
  WriteWhole(command.out + "/comparison.txt", ComparisonToText(cells));
  WriteWhole(command.out + "/comparison.md", ComparisonToMarkdown(cells));
  WriteWhole(command.out + "/comparison.json", ComparisonToJson(cells));
  if (command.json) {
    std::cout << ComparisonToJson(cells);
    return;
  }
  std::cout << (command.markdown ? "- " : "")
            << "dataset: " << command.samples.dataset << ", split "
            << command.samples.split << "; labels of the training part:";
  for (const auto& [provenance, count] : set.CountProvenance(data.train)) {
    std::cout << " " << count << " " << ProvenanceName(provenance);
  }
  std::cout << "; " << command.learning.options.epochs << " epochs, "
            << command.seeds.size() << " seeds\n\n"
            << (command.markdown ? ComparisonToMarkdown(cells)
                                 : ComparisonToText(cells));
}

ExitCode RunCompare(const CompareCommand& command) {
  const OpenedSamples opened = OpenSamples(command.samples);
  const training::TrainingData data{
      opened.set, *opened.store, opened.set.PartOf(Part::kTrain),
      opened.set.ForJudging(opened.set.PartOf(Part::kValidation))};
  const std::vector<std::size_t> test =
      opened.set.ForJudging(opened.set.PartOf(Part::kTest));
  const std::vector<training::TrainerOptions> wanted = Cells(command);
  TrainingProgress progress(std::ssize(wanted), command.learning.options.epochs,
                            std::ssize(data.train));
  std::vector<ComparisonCell> cells;
  for (const training::TrainerOptions& options : wanted) {
    const training::ResultCache cache = CacheOf(command, options, opened.set);
    const std::string name = NameOf(options);
    if (const auto found = cache.Find(name)) {
      cells.push_back(training::CellFromJson(*found, name));
      continue;
    }
    const std::optional<ComparisonCell> cell =
        TrainCell(options, command.samples.Targets(), data, test,
                  progress.HooksOf(std::ssize(cells), name + " "));
    if (!cell) return kExitInterrupted;
    cache.Put(name, CellToJson(*cell));
    cells.push_back(*cell);
  }
  Print(command, opened.set, data, cells);
  return kExitOk;
}

}  // namespace

void AddCompare(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<CompareCommand>();
  options->learning.options.epochs = 10;
  CLI::App* command = app.add_subcommand(
      "compare", "Train several networks from several seeds on one split");
  options->samples.AddTo(*command, /*learning=*/true);
  options->learning.AddTo(*command, /*with_network=*/false);
  command->add_option("--networks", options->networks, "Which to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(NetworkNames(/*with_terms=*/false)))
      ->capture_default_str();
  command->add_option("--seeds", options->seeds, "One training for each")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--out", options->out,
                   "Folder of the results; what is in it is not repeated")
      ->required();
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_flag("--markdown", options->markdown, "A table in Markdown");
  command->callback(
      [options, &exit_code] { exit_code = RunCompare(*options); });
}

}  // namespace foretell::cli
