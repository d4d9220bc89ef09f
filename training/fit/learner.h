#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "src/network/checkpoint.h"
#include "training/fit/adam.h"
#include "training/fit/epoch_metrics.h"
#include "training/fit/trainer_options.h"
#include "training/samples/batch_loader.h"
#include "training/samples/samples.h"
#include "training/workers/communicator.h"

namespace foretell::training {

/// One training step on a batch, which workers share.
class Learner {
 public:
  /// A new network of `info` with weights from the seed. Throws Error as
  /// ComputeDevice and MakeNetwork do.
  Learner(const TrainerOptions& options, const learned::CheckpointInfo& info,
          const SampleSet& set, Communicator& communicator);

  struct StepOptions {
    double rate = 0;
    std::uint64_t seed = 0;  ///< Seed of dropout.
    bool stop = false;       ///< This worker requests the end of training.
  };
  struct StepResult {
    PassSums own;       ///< Losses and errors of this worker's share.
    double loss = 0;    ///< Mean over the whole batch.
    double norm = 0;    ///< Norm of the gradient, before clipping.
    bool stop = false;  ///< Any worker wants to end.
  };
  /// Gradients of the sum of losses are added up over workers, divided by the
  /// sum of weights, clipped, and applied; a batch without weight changes
  /// nothing. Throws Error(kInvalidArgument) when the gradient is not finite.
  StepResult Step(const LoadedBatch& batch, const StepOptions& step);

  learned::Network& network() { return *network_; }
  const learned::Network& network() const { return *network_; }
  Adam& adam() { return adam_; }
  const Adam& adam() const { return adam_; }
  const at::Device& device() const { return device_; }

 private:
  PassSums Backward(const LoadedBatch& batch);
  void Update(double weight, double rate, StepResult& result);

  const TrainerOptions& options_;
  const learned::CheckpointInfo& info_;
  const SampleSet& set_;
  Communicator& communicator_;
  at::Device device_;
  std::shared_ptr<learned::Network> network_;
  FlatParameters parameters_;
  Adam adam_;
};

}  // namespace foretell::training
