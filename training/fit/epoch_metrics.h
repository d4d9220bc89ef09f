#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "src/features/targets.h"
#include "training/fit/predicted_sample.h"

namespace foretell::training {

/// Sums of loss and errors over a pass.
struct PassSums {
  double loss = 0;    ///< Weighted sum of Huber losses, in scaled space.
  double weight = 0;  ///< Sum of the weights.
  std::array<double, learned::kNumTargets> ape = {};  ///< |p / t - 1|, summed.
  std::array<double, learned::kNumTargets> count = {};

  void Add(const PredictedSample& prediction);
  void Add(const PassSums& other);
  double Loss() const;  ///< Mean; 0 without any weight.
  /// Mean absolute percentage error as a share; kUnknown without a label.
  double Mape(learned::Target target) const;
  /// Over the labels of all targets together, as DIPPM reports it.
  double PooledMape() const;

  /// All numbers one after the other, for sums over workers.
  static constexpr std::size_t kNumbers = 2 + 2 * learned::kNumTargets;
  std::array<double, kNumbers> ToArray() const;
  static PassSums FromArray(std::span<const double> numbers);
};

/// Metrics of an epoch.
struct EpochMetrics {
  std::int64_t epoch = 0;  ///< From 1.
  double learning_rate = 0;
  double gradient_norm = 0;  ///< Mean over the steps, before clipping.
  PassSums train;            ///< While learning, with dropout.
  std::optional<PassSums> validation;
  bool is_best = false;
  double seconds = 0;  ///< Time of training, without validation.
  double graphs_per_second = 0;
};

/// One line of metrics.jsonl: {"epoch", "learning_rate", "gradient_norm",
/// "train": {"loss", "mape", "mape_memory", …}, "validation", "best",
/// "seconds", "graphs_per_second"}.
nlohmann::ordered_json EpochToJson(const EpochMetrics& metrics);

}  // namespace foretell::training
