#pragma once

#include <span>
#include <vector>

#include "src/network/checkpoint.h"
#include "src/network/network.h"
#include "training/fit/epoch_metrics.h"
#include "training/fit/predicted_sample.h"
#include "training/samples/feature_store.h"
#include "training/samples/samples.h"
#include "training/workers/communicator.h"

namespace foretell::learned {
class LearnedModel;
}  // namespace foretell::learned

namespace foretell::training {

/// Predictions of a network for samples.
struct PassResult {
  std::vector<PredictedSample> predictions;  ///< In the order asked for.
  PassSums sums;
};

/// Inputs of a pass.
struct PassContext {
  FeatureStore& store;
  const SampleSet& set;
  const learned::CheckpointInfo& info;
  learned::Network& network;
  Communicator& communicator;
  double huber_delta = 1;
  std::int64_t batch_size = 64;
};

/// Predicts samples in evaluation mode; each worker computes its share, all get
/// the same result. The network runs where its parameters are.
PassResult PredictSamples(const PassContext& context,
                          std::span<const std::size_t> indices);

/// Throws Error(kInvalidArgument) unless samples have the columns and the prior
/// that the network was trained with.
void CheckFits(const learned::CheckpointInfo& info, const SampleSet& set);

/// Adds the intervals of `model` to its predictions.
void AddIntervals(const learned::LearnedModel& model,
                  std::vector<PredictedSample>& predictions);

/// The prior as a prediction.
std::vector<PredictedSample> PriorAsPrediction(
    const SampleSet& set, std::span<const std::size_t> indices);

}  // namespace foretell::training
