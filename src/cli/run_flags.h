#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "foretell/predictor.h"
#include "src/cli/model_options.h"
#include "src/cli/own_checkpoints.h"
#include "src/model/learned_predictors.h"

namespace foretell::cli {

/// Flags that say how PyTorch runs a network, and by which method its figures
/// are found.
class RunFlags {
 public:
  void AddTo(CLI::App& command);
  /// Under autocast a network is traced in FP16. Throws
  /// Error(kInvalidArgument) for flags that contradict each other.
  void ApplyTo(ModelOptions& model) const;
  /// Files of the user's own networks.
  const std::vector<std::string>& checkpoints() const { return checkpoints_; }
  /// Throws Error(kInvalidArgument) for a version that is none.
  model::LearnedRequest ToRequest(const Target& target) const;
  /// Puts learned figures in the place of analytic ones: those of `own`, where
  /// there are any, else those that come with foretell, where they apply.
  void Improve(const OperatorGraph& graph, const model::LearnedRequest& request,
               const OwnCheckpoints& own, Prediction& prediction) const;

 private:
  /// JSON as a label of such a run would have it.
  std::string LabelEnvironment() const;

  std::string method_ = "auto";
  bool autocast_ = false;
  bool channels_last_ = false;
  std::string torch_ = "2.9";
  std::vector<std::string> checkpoints_;
};

}  // namespace foretell::cli
