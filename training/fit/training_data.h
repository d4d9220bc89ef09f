#pragma once

#include <cstddef>
#include <vector>

#include "training/samples/feature_store.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// What a network learns from. It must outlive what learns from it, and so must
/// what it refers to.
struct TrainingData {
  const SampleSet& set;
  FeatureStore& store;
  std::vector<std::size_t> train;       ///< Indices into `set`.
  std::vector<std::size_t> validation;  ///< May be empty.
};

}  // namespace foretell::training
