#pragma once

#include <string>
#include <vector>

#include "training/fit/trainer.h"

namespace foretell::training {

/// Bounds of the range test.
struct RateTestOptions {
  double lowest = 1e-7;
  double highest = 1;
  std::int64_t steps = 100;
};

/// Result of the test.
struct RateTest {
  struct Step {
    double rate = 0;
    double loss = 0;      ///< Loss of this batch.
    double smoothed = 0;  ///< Moving mean, corrected for its beginning.
  };
  std::vector<Step> steps;
  double suggested = 0;
};

/// The rate at which the smoothed loss falls most steeply over the logarithm of
/// the rate, before its minimum; the slope is taken over a few steps. Throws
/// Error(kInvalidArgument) for fewer than three steps.
double SuggestRate(const std::vector<RateTest::Step>& steps);

/// Smith's range test (2017): trains a new network while the rate grows
/// exponentially, until the loss has risen far above its lowest or `highest` is
/// reached. Workers share the batches and get the same result. The network is
/// discarded.
RateTest FindRate(const TrainerOptions& options,
                  const learned::CheckpointInfo& info, const TrainingData& data,
                  Communicator& communicator, const RateTestOptions& test = {});

/// A page with the curve and the suggestion.
std::string RateTestToHtml(const RateTest& test);

}  // namespace foretell::training
