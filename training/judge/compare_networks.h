#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "training/judge/comparison.h"
#include "training/judge/experiment.h"
#include "training/samples/open_samples.h"
#include "training/samples/sample_request.h"

namespace foretell::training {

/// Networks to compare, and the folder for results.
struct ComparisonOptions {
  SampleRequest samples;
  std::vector<TrainerOptions> networks;  ///< One for each network.
  std::vector<std::uint64_t> seeds;      ///< Each network is trained with each.
  std::string folder;  ///< Trainings stored in it are not repeated.
};

/// Networks trained with several seeds on one split.
class NetworkComparison {
 public:
  /// Opens the samples. Throws Error as OpenSamples.
  explicit NetworkComparison(ComparisonOptions options);
  NetworkComparison(const NetworkComparison&) = delete;
  NetworkComparison& operator=(const NetworkComparison&) = delete;

  const SampleSet& set() const { return opened_.set; }
  const TrainingData& data() const { return data_; }
  std::int64_t num_cells() const { return std::ssize(cells_); }

  /// Trains the cells in turn: all seeds of a network, then the next network.
  /// Empty when interrupted; finished cells are kept. Throws Error as
  /// TrainCell and ResultCache.
  std::optional<std::vector<ComparisonCell>> Run(const HooksOfRun& hooks) const;

  /// Writes comparison.txt, .md, .json and .html into the folder. Throws
  /// Error(kIo).
  void Write(std::span<const ComparisonCell> cells) const;

 private:
  ComparisonOptions options_;
  std::vector<TrainerOptions> cells_;
  OpenedSamples opened_;
  TrainingData data_;
  std::vector<std::size_t> test_;
};

}  // namespace foretell::training
