#pragma once

#include <cstddef>
#include <vector>

#include "training/samples/feature_store.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// Training data of a network. It and everything it refers to must outlive the
/// trainer.
struct TrainingData {
  const SampleSet& set;
  FeatureStore& store;
  std::vector<std::size_t> train;       ///< Indices into `set`.
  std::vector<std::size_t> validation;  ///< May be empty.
};

}  // namespace foretell::training
