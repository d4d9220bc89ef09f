#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foretell/predictor.h"
#include "src/network/checkpoint.h"
#include "src/network/network.h"

namespace foretell::learned {

/// A trained network with its scaling: from graphs to MiB, ms and J.
class LearnedModel {
 public:
  /// Throws what ReadCheckpoint and RestoreNetwork throw.
  static LearnedModel Load(const std::string& path);
  /// `origin` names the checkpoint in errors.
  LearnedModel(const Checkpoint& checkpoint, const std::string& origin);
  LearnedModel(CheckpointInfo info, std::shared_ptr<Network> network);

  const CheckpointInfo& info() const { return info_; }
  Network& network() const { return *network_; }

  /// One row per graph of the batch; targets that the network does not have
  /// are unknown. `priors` are of the same graphs, and not read without a
  /// prior in info(). The network must be in evaluation.
  std::vector<TargetValues> Predict(const GraphBatch& batch,
                                    std::span<const TargetValues> priors) const;

  /// Interval of the true value; empty if the checkpoint has none.
  std::optional<Interval> IntervalOf(Target target, double predicted) const;

 private:
  CheckpointInfo info_;
  std::shared_ptr<Network> network_;
};

/// Outputs of a network as Decode reads them, [graphs, outputs]: all targets
/// have the scale kind of the first.
at::Tensor Activate(const CheckpointInfo& info, const at::Tensor& output);

/// Activated outputs as values, a row per graph; `priors` may be empty if the
/// recipe names no prior.
std::vector<TargetValues> DecodeAll(const CheckpointInfo& info,
                                    const at::Tensor& activated,
                                    std::span<const TargetValues> priors);

}  // namespace foretell::learned
