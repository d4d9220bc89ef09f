#include "training/fit/epoch_metrics.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "src/core/json_text.h"

namespace foretell::training {
namespace {

using OrderedJson = nlohmann::ordered_json;
using learned::kNumTargets;
using learned::Target;

OrderedJson PassToJson(const PassSums& sums) {
  OrderedJson json = {{"loss", JsonNumber(sums.Loss())},
                      {"mape", JsonNumber(sums.PooledMape())}};
  for (const Target target : learned::kAllTargets) {
    if (sums.count[static_cast<std::size_t>(target)] == 0) continue;
    json[fmt::format("mape_{}", TargetName(target))] =
        JsonNumber(sums.Mape(target));
  }
  return json;
}

}  // namespace

void PassSums::Add(const PredictedSample& prediction) {
  for (const Target target : learned::kAllTargets) {
    if (!prediction.Has(target)) continue;
    const auto i = static_cast<std::size_t>(target);
    ape[i] += std::abs(prediction.predicted[i] / prediction.truth[i] - 1);
    count[i] += 1;
  }
}

void PassSums::Add(const PassSums& other) {
  loss += other.loss;
  weight += other.weight;
  for (std::size_t i = 0; i < kNumTargets; ++i) {
    ape[i] += other.ape[i];
    count[i] += other.count[i];
  }
}

double PassSums::Loss() const { return weight > 0 ? loss / weight : 0; }

double PassSums::Mape(Target target) const {
  const auto i = static_cast<std::size_t>(target);
  return count[i] > 0 ? ape[i] / count[i] : learned::kUnknown;
}

double PassSums::PooledMape() const {
  double sum = 0;
  double labels = 0;
  for (std::size_t i = 0; i < kNumTargets; ++i) {
    sum += ape[i];
    labels += count[i];
  }
  return labels > 0 ? sum / labels : learned::kUnknown;
}

std::array<double, PassSums::kNumbers> PassSums::ToArray() const {
  std::array<double, kNumbers> numbers = {loss, weight};
  for (std::size_t i = 0; i < kNumTargets; ++i) {
    numbers[2 + i] = ape[i];
    numbers[2 + kNumTargets + i] = count[i];
  }
  return numbers;
}

PassSums PassSums::FromArray(std::span<const double> numbers) {
  PassSums sums{.loss = numbers[0], .weight = numbers[1]};
  for (std::size_t i = 0; i < kNumTargets; ++i) {
    sums.ape[i] = numbers[2 + i];
    sums.count[i] = numbers[2 + kNumTargets + i];
  }
  return sums;
}

OrderedJson EpochToJson(const EpochMetrics& metrics) {
  OrderedJson json = {{"epoch", metrics.epoch},
                      {"learning_rate", metrics.learning_rate},
                      {"gradient_norm", JsonNumber(metrics.gradient_norm)},
                      {"train", PassToJson(metrics.train)}};
  json["validation"] = metrics.validation ? PassToJson(*metrics.validation)
                                          : OrderedJson(nullptr);
  json["best"] = metrics.is_best;
  json["seconds"] = metrics.seconds;
  json["graphs_per_second"] = metrics.graphs_per_second;
  return json;
}

}  // namespace foretell::training
