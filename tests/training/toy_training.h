#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "src/answer/learned_model.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"
#include "training/fit/predict_samples.h"
#include "training/fit/trainer.h"

namespace foretell::training_test {

/// A dataset of chains, learned from in whole unless a test holds some out.
class ToyTraining : public testing::Test {
 protected:
  /// Takes `set` of the dataset that a test has written to path_.
  void LearnFrom(training::SampleSet set) {
    set_ = std::move(set);
    store_.emplace(path_, 1 << 20, set_.recipe);
    data_.emplace(training::TrainingData{set_, *store_, AllOf(set_), {}});
  }

  /// All samples as `learned` predicts them.
  training::PassResult Predict(const learned::LearnedModel& learned) {
    return training::PredictSamples({.store = *store_,
                                     .set = set_,
                                     .info = learned.info(),
                                     .network = learned.network(),
                                     .communicator = alone_},
                                    AllOf(set_));
  }

  dataset_test::Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
  training::SampleSet set_;
  std::optional<training::FeatureStore> store_;
  std::optional<training::TrainingData> data_;
  training::Communicator alone_;
};

}  // namespace foretell::training_test
