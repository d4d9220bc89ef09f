#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/model_options.h"
#include "foretell/predictor.h"
#include "foretell/runtime.h"

namespace foretell::cli {

/// Adds --optimizer, with all names that ParseOptimizer knows. `optimizer` must
/// outlive the command.
void AddOptimizer(CLI::App& command, Optimizer& optimizer);

/// Adds the flags of the step to trace: mode, optimizer and precision. `run`
/// must outlive the command.
void AddStepFlags(CLI::App& command, Run& run);

/// Adds --grad. `run` must outlive the command.
void AddGradMode(CLI::App& command, Run& run);

/// Adds --runtime. `runtime` must outlive the command.
void AddRuntime(CLI::App& command, RuntimeSpec& runtime);

/// Adds --host: what calls the operators, or a machine, on which the default
/// interpreter does. Both arguments must outlive the command.
void AddHostFlag(CLI::App& command, Run& run, std::optional<HostSpec>& host);

/// Adds --torch. `version` must outlive the command.
void AddTorch(CLI::App& command, TorchVersion& version);

/// Flags of every command that predicts: the device, how PyTorch runs networks
/// there apart from the step, and the method by which figures are found.
struct PredictorFlags {
  DeviceFlags device;
  Method method = Method::kAuto;
  std::vector<std::string> checkpoints;  ///< Files of the user's own networks.
  /// Machine of --host; empty: the device's default.
  std::optional<HostSpec> host;
  /// File that `foretell adapt` or `foretell calibrate` wrote; or empty.
  std::string adaptation;
  bool expandable_segments = false;  ///< Of the caching allocator.
  double link_gb_s = 0;              ///< As CostOptions.

  /// `run` must outlive the command.
  void AddTo(CLI::App& command, Run& run);
  /// Settings for Predictor::Make, of which `catalog` is a part. Throws what
  /// FindContext and CorrectionFromJson throw.
  PredictorOptions ToOptions(const DeviceCatalog& catalog) const;
  /// `with_least` and `with_slices` as PredictorOptions. Throws what ToOptions,
  /// Predictor::Make and DeviceFlags::Catalog throw.
  Predictor Make(const Run& run, bool with_least = true,
                 bool with_slices = true) const;
};

/// The flags of a training step, of the allocator and of the process that
/// differ from PyTorch's default: LoopWords, "--expandable-segments",
/// PassFlags::Words.
std::vector<std::string> SetupWords(const ModelOptions& model,
                                    const PredictorFlags& predictor);

}  // namespace foretell::cli
