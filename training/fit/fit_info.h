#pragma once

#include <optional>
#include <span>

#include "src/network/checkpoint.h"
#include "training/fit/trainer_options.h"
#include "training/fit/training_data.h"

namespace foretell::training {

/// Metadata for the checkpoint of a new run: scales and columns fitted to the
/// samples of the training part, and the source of its labels. Throws
/// Error(kInvalidArgument) for an empty part, for a target without a single
/// label in it, and for the scale "dippm" together with a prior.
learned::CheckpointInfo FitInfo(const TrainerOptions& options,
                                const SampleSet& set,
                                std::span<const learned::Target> targets,
                                std::span<const std::size_t> train);

/// Fits the network's own scales (Network::InputsToScale) to the samples of the
/// training part. Does nothing for other networks.
void FitInputScale(learned::Network& network,
                   const learned::CheckpointInfo& info,
                   const TrainingData& data);

/// 99th percentile of Network::InputDistance over the training part; empty for
/// networks without one.
std::optional<double> FarDistance(learned::Network& network,
                                  const learned::CheckpointInfo& info,
                                  const TrainingData& data);

}  // namespace foretell::training
