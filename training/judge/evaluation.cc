#include "training/judge/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "foretell/mig.h"

namespace foretell::training {
namespace {

using learned::Target;

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

double ExplainedVariance(std::span<const double> truth,
                         std::span<const double> predicted) {
  const double mean = Mean(truth);
  double residual = 0;
  double total = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    residual += std::pow(truth[i] - predicted[i], 2);
    total += std::pow(truth[i] - mean, 2);
  }
  return total > 0 ? 1 - residual / total : learned::kUnknown;
}

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> Ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    const double rank = static_cast<double>(begin + end + 1) / 2;
    for (; begin < end; ++begin) ranks[order[begin]] = rank;
  }
  return ranks;
}

double Correlation(std::span<const double> a, std::span<const double> b) {
  const double mean_a = Mean(a);
  const double mean_b = Mean(b);
  double covariance = 0;
  double variance_a = 0;
  double variance_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    covariance += (a[i] - mean_a) * (b[i] - mean_b);
    variance_a += std::pow(a[i] - mean_a, 2);
    variance_b += std::pow(b[i] - mean_b, 2);
  }
  const double product = variance_a * variance_b;
  return product > 0 ? covariance / std::sqrt(product) : learned::kUnknown;
}

std::vector<double> Logs(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

double Ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                   : learned::kUnknown;
}

double Coverage(Target target, std::span<const PredictedSample> predictions) {
  std::int64_t with = 0;
  std::int64_t inside = 0;
  for (const PredictedSample& one : predictions) {
    const auto& interval = one.intervals[static_cast<std::size_t>(target)];
    if (!interval || !one.Has(target)) continue;
    const double truth = ValueOf(one.truth, target);
    ++with;
    inside += interval->lo <= truth && truth <= interval->hi;
  }
  return Ratio(inside, with);
}

std::vector<TargetAccuracy> JudgeAll(
    std::span<const PredictedSample> predictions,
    std::span<const Target> targets) {
  std::vector<TargetAccuracy> accuracies;
  for (const Target target : targets) {
    const TargetAccuracy accuracy = JudgeTarget(target, predictions);
    if (accuracy.count > 0) accuracies.push_back(accuracy);
  }
  return accuracies;
}

double Pooled(std::span<const TargetAccuracy> accuracies) {
  double sum = 0;
  double count = 0;
  for (const TargetAccuracy& accuracy : accuracies) {
    sum += accuracy.mape * static_cast<double>(accuracy.count);
    count += static_cast<double>(accuracy.count);
  }
  return count > 0 ? sum / count : learned::kUnknown;
}

}  // namespace

double FitDecision::Recall() const { return Ratio(both, fits); }
double FitDecision::Precision() const { return Ratio(both, predicted); }

TargetAccuracy JudgeTarget(Target target,
                           std::span<const PredictedSample> predictions) {
  std::vector<double> truth;
  std::vector<double> predicted;
  std::vector<double> errors;
  std::int64_t under = 0;
  for (const PredictedSample& one : predictions) {
    if (!one.Has(target)) continue;
    truth.push_back(ValueOf(one.truth, target));
    predicted.push_back(ValueOf(one.predicted, target));
    errors.push_back(std::abs(predicted.back() / truth.back() - 1));
    under += predicted.back() < truth.back();
  }
  TargetAccuracy accuracy{.target = target, .count = std::ssize(truth)};
  if (truth.empty()) return accuracy;
  accuracy.mape = Mean(errors);
  accuracy.median_ape = Median(errors);
  accuracy.r2 = ExplainedVariance(truth, predicted);
  accuracy.r2_log = ExplainedVariance(Logs(truth), Logs(predicted));
  accuracy.spearman = Correlation(Ranks(truth), Ranks(predicted));
  accuracy.underestimated = Ratio(under, accuracy.count);
  accuracy.coverage = Coverage(target, predictions);
  return accuracy;
}

std::vector<FitDecision> JudgeFits(
    const DeviceSpec& device, std::span<const PredictedSample> predictions) {
  std::vector<FitDecision> decisions;
  for (const MigProfile& profile : device.mig_profiles) {
    if (profile.media_extensions) continue;
    decisions.push_back(
        {.profile = profile.name, .usable_mib = profile.usable_mib});
  }
  decisions.push_back({.profile = "", .usable_mib = device.usable_mib});
  for (FitDecision& decision : decisions) {
    const auto usable = static_cast<double>(decision.usable_mib);
    for (const PredictedSample& one : predictions) {
      if (!one.Has(Target::kMemory)) continue;
      const bool fits =
          mig::FitsMemory(ValueOf(one.truth, Target::kMemory), usable);
      const bool predicted =
          mig::FitsMemory(ValueOf(one.predicted, Target::kMemory), usable);
      decision.fits += fits;
      decision.predicted += predicted;
      decision.both += fits && predicted;
    }
  }
  return decisions;
}

Evaluation Evaluate(const SampleSet& set,
                    std::span<const PredictedSample> predictions,
                    std::span<const Target> targets, const DeviceSpec* device) {
  Evaluation evaluation{.devices = set.devices,
                        .sources = set.sources,
                        .samples = std::ssize(predictions)};
  std::map<std::string, std::vector<PredictedSample>> families;
  for (const PredictedSample& one : predictions) {
    const Sample& sample = set.samples[one.sample];
    ++evaluation.provenance[std::string(ProvenanceName(sample.provenance))];
    families[sample.family].push_back(one);
  }
  evaluation.targets = JudgeAll(predictions, targets);
  evaluation.pooled_mape = Pooled(evaluation.targets);
  for (const auto& [family, members] : families) {
    evaluation.families.push_back({family, JudgeAll(members, targets)});
  }
  const bool has_memory = std::ranges::any_of(
      evaluation.targets, [](const TargetAccuracy& accuracy) {
        return accuracy.target == Target::kMemory;
      });
  if (device != nullptr && has_memory) {
    evaluation.fits = JudgeFits(*device, predictions);
  }
  return evaluation;
}

}  // namespace foretell::training
