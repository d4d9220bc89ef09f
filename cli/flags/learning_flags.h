#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/sample_flags.h"
#include "src/network/network.h"
#include "training/fit/trainer_options.h"

namespace foretell::cli {

/// Names of the graph networks, and of the term networks if asked for; sorted.
std::vector<std::string> NetworkNames(bool with_terms);

/// Flags of the network and the optimizer.
struct LearningFlags {
  training::TrainerOptions options = {.epochs = 100};
  std::string network = "pmgns";
  std::string pooling = "sum";
  std::string scale = "log";
  std::string schedule = "constant";

  /// Without `network`, where a command has several.
  void AddTo(CLI::App& command, bool with_network);
  /// For a graph network.
  training::TrainerOptions ToOptions(const learned::NetworkKind& kind) const;
  /// For the kind of --network. Where that sees terms, flags that were not
  /// given follow it: those here and, in `samples`, the targets.
  training::TrainerOptions ToOptions(SampleFlags& samples) const;

 private:
  void FollowTerms(training::TrainerOptions& made, SampleFlags& samples) const;

  const CLI::App* command_ = nullptr;
};

}  // namespace foretell::cli
