#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "foretell/dataset.h"
#include "training/fit/trainer_options.h"
#include "training/samples/samples.h"

namespace foretell::training_test {

/// A chain of `layers` convolutions with `channels`, each with a relu: twice as
/// many nodes as layers.
OperatorGraph ChainGraph(std::int64_t batch, int layers, int channels);

struct ToyDataOptions {
  int points = 8;
  /// Every how many points has a measured energy.
  int energy_every = 1;
  std::string device = "a100-sxm4-40gb";
};

/// Writes a dataset of chains of 1 to 8 layers under the families "even" and
/// "odd" (by their number of layers), measured by "test": memory 500 MiB +
/// 10 MiB · layers · batch, latency 0.1 ms · layers · batch, energy latency
/// / 4.
void MakeToyDataset(const std::string& path,
                    const ToyDataOptions& options = {});

/// All three targets, every sample for training.
training::SampleSet SelectToy(const std::string& path);

/// A network of 8 numbers a node that learns for one epoch.
training::TrainerOptions TinyTraining();

/// Numbers of the samples 0, 1, … of a set.
std::vector<std::size_t> AllOf(const training::SampleSet& set);

}  // namespace foretell::training_test
