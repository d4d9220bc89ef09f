#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/network/network.h"
#include "training/fit/trainer_options.h"

namespace foretell::cli {

/// Networks over operators, and those over terms if asked for, by name.
std::vector<learned::NetworkKind> SortedNetworks(bool with_terms);

/// Flags of the network and the optimizer.
struct LearningFlags {
  /// Defaults for networks over operators, before AddTo; then the values of the
  /// flags.
  training::TrainerOptions options = {.epochs = 100};

  /// Leaves out `--network` for commands that have a list of networks. The
  /// flags must outlive the command.
  void AddTo(CLI::App& command, bool with_network);

  /// Options of a network of this kind: those given by flags, the others from
  /// TypicalOptions. Throws Error as TrainerOptions::Check.
  training::TrainerOptions ToOptions(learned::NetworkKind kind) const;
  /// The same for that of --network.
  training::TrainerOptions ToOptions() const {
    return ToOptions(options.network.kind);
  }

 private:
  /// Copies one field of the second to the first.
  using Copy = std::function<void(training::TrainerOptions&,
                                  const training::TrainerOptions&)>;

  void AddNetwork(CLI::App& command);
  void AddSize(CLI::App& command);
  void AddSteps(CLI::App& command);
  void AddCourse(CLI::App& command);
  void AddKinds(CLI::App& command);
  /// Adds an option or a flag for a field, of the network or of the trainer.
  template <typename Object, typename Value>
  void Add(CLI::App& command, const char* name, Value Object::*field,
           const char* help);
  /// Notes that `option` sets a field.
  template <typename Object, typename Value>
  void Note(const CLI::Option* option, Value Object::*field);

  training::TrainerOptions defaults_;
  std::vector<std::pair<const CLI::Option*, Copy>> fields_;
};

}  // namespace foretell::cli
