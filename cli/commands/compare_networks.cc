#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/training_progress.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/learning_flags.h"
#include "cli/flags/named_flag.h"
#include "cli/flags/sample_flags.h"
#include "src/core/numbers.h"
#include "training/judge/compare_networks.h"

namespace foretell::cli {
namespace {

using training::ComparisonCell;

struct CompareNetworksCommand {
  training::ComparisonOptions options = {.seeds = {0, 1, 2}};
  LearningFlags learning;
  std::vector<learned::NetworkKind> networks =
      SortedNetworks(/*with_terms=*/false);
  bool json = false;
  bool markdown = false;
};

/// What stands above the table.
std::string HeadingOf(const CompareNetworksCommand& command,
                      const training::NetworkComparison& comparison) {
  const training::SampleRequest& samples = command.options.samples;
  std::string text = fmt::format(
      "dataset: {}, split {}; labels of the training part:", samples.dataset,
      samples.split);
  for (const auto& [provenance, count] :
       comparison.set().CountProvenance(comparison.data().train)) {
    text += fmt::format(" {} {}", count, ProvenanceName(provenance));
  }
  return text + fmt::format("; {}, {}",
                            Counted(command.learning.options.epochs, "epoch"),
                            Counted(command.options.seeds.size(), "seed"));
}

void Print(const CompareNetworksCommand& command,
           const training::NetworkComparison& comparison,
           const std::vector<ComparisonCell>& cells) {
  if (command.json) {
    std::cout << ComparisonToJson(cells);
    return;
  }
  std::cout << (command.markdown ? "- " : "") << HeadingOf(command, comparison)
            << "\n\n"
            << (command.markdown ? ComparisonToMarkdown(cells)
                                 : ComparisonToText(cells));
}

ExitCode RunCompareNetworks(CompareNetworksCommand command) {
  for (const learned::NetworkKind network : command.networks) {
    command.options.networks.push_back(command.learning.ToOptions(network));
  }
  const training::NetworkComparison comparison(command.options);
  TrainingProgress progress(comparison.num_cells(),
                            command.learning.options.epochs,
                            std::ssize(comparison.data().train));
  const auto cells =
      comparison.Run([&progress](std::int64_t run, const std::string& name) {
        return progress.HooksOf(run, name);
      });
  if (!cells) return kExitInterrupted;
  comparison.Write(*cells);
  Print(command, comparison, *cells);
  return kExitOk;
}

}  // namespace

void AddCompareNetworks(CLI::App& app, ExitCode& exit_code) {
  auto compare = std::make_shared<CompareNetworksCommand>();
  compare->learning.options.epochs = 10;
  CLI::App* command = app.add_subcommand(
      "compare-networks",
      "Train several networks with several seeds on one split");
  AddLabelFlags(*command, compare->options.samples);
  AddInputFlags(*command, compare->options.samples);
  compare->learning.AddTo(*command, /*with_network=*/false);
  AddNamedList(*command, "--networks", compare->networks, compare->networks,
               &learned::NetworkKindName, "Which to compare")
      ->default_str("gat gcn gin mlp pmgns");
  AddDefaulted(*command, "--seeds", compare->options.seeds,
               "Seeds; each network is trained once per seed")
      ->delimiter(',');
  command
      ->add_option(
          "--out", compare->options.folder,
          "Folder for results; trainings already in it are not repeated")
      ->required();
  command->add_flag("--json", compare->json, "JSON document on stdout");
  command->add_flag("--markdown", compare->markdown, "A table in Markdown");
  command->callback(
      [compare, &exit_code] { exit_code = RunCompareNetworks(*compare); });
}

}  // namespace foretell::cli
