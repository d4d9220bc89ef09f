#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "foretell/predictor.h"
#include "src/features/targets.h"

namespace foretell::training {

/// The prediction for a sample, together with its label.
struct PredictedSample {
  std::size_t sample = 0;                            ///< Index into SampleSet.
  learned::TargetValues truth = learned::kNoValues;  ///< Targets of the sample.
  learned::TargetValues predicted = learned::kNoValues;
  /// Prediction intervals; may be empty.
  std::array<std::optional<Interval>, learned::kNumTargets> intervals = {};

  /// True if a target is both known and predicted.
  bool Has(learned::Target target) const {
    return learned::IsKnown(ValueOf(truth, target)) &&
           learned::IsKnown(ValueOf(predicted, target));
  }
};

}  // namespace foretell::training
