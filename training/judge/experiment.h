#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "src/features/targets.h"
#include "training/fit/trainer.h"
#include "training/fit/trainer_options.h"
#include "training/samples/feature_store.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// Common settings of all trainings of an experiment. They must outlive the
/// training.
struct LearningTask {
  const TrainerOptions& options;
  std::span<const learned::Target> targets;
  const SampleSet& set;
  FeatureStore& store;
};

/// Hooks of training number `run`, from 0, of an experiment; `name` is for its
/// progress.
using HooksOfRun =
    std::function<TrainerHooks(std::int64_t run, const std::string& name)>;

}  // namespace foretell::training
