#include "datasets/views/stats.h"

#include "src/core/statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace foretell::dataset {
namespace {

constexpr std::size_t kBins = 24;
// What is an outlier, see OutlierRule.
constexpr double kOutlierFactor = 1.5;
constexpr double kOutlierDeviations = 6;
constexpr std::size_t kSmallestGroup = 20;

/// Whether a quantity has a plot of its own.
bool IsDrawn(const LabelQuantity& quantity) {
  return quantity.value == &Label::memory_mib ||
         quantity.value == &Label::latency_ms;
}

std::vector<std::int64_t> Histogram(const std::vector<double>& sorted) {
  const auto first = std::upper_bound(sorted.begin(), sorted.end(), 0.0);
  if (first == sorted.end()) return {};
  const double low = std::log(*first);
  const double step = (std::log(sorted.back()) - low) / kBins;
  std::vector<std::int64_t> counts(kBins);
  for (auto it = first; it != sorted.end(); ++it) {
    const double bin = step > 0 ? (std::log(*it) - low) / step : 0;
    ++counts[std::min(static_cast<std::size_t>(bin), kBins - 1)];
  }
  return counts;
}

/// What is needed of a point for the statistics of labels.
struct PointFacts {
  Point point;
  double macs = 0;
};

class Counting {
 public:
  explicit Counting(const Dataset& dataset) : dataset_(dataset) {}

  Stats Run() {
    stats_.path = dataset_.path();
    stats_.splits = dataset_.SplitNames();
    CountPoints();
    CountLabels();
    return std::move(stats_);
  }

 private:
  void CountPoints() {
    std::map<RowId, GraphSummary> graphs;
    for (const GraphSummary& graph : dataset_.Graphs())
      graphs[graph.id] = graph;
    stats_.graphs = std::ssize(graphs);
    std::map<std::string, FamilyCount> families;
    std::set<std::string> models;
    std::map<std::string, std::vector<double>> sizes;
    for (const StoredPoint& stored : dataset_.Points()) {
      FamilyCount& family = families[stored.point.family];
      family.family = stored.point.family;
      ++family.points;
      if (models.insert(stored.point.model).second) ++family.models;
      CountStatus(stored.status, family);
      PointFacts& facts = facts_[stored.id];
      facts.point = stored.point;
      const auto graph = graphs.find(stored.graph);
      if (graph == graphs.end()) continue;
      const GraphSummary& summary = graph->second;
      facts.macs = static_cast<double>(summary.statics.macs);
      sizes["nodes"].push_back(static_cast<double>(summary.num_nodes));
      sizes["edges"].push_back(static_cast<double>(summary.num_edges));
      sizes["parameters"].push_back(static_cast<double>(summary.parameters));
      sizes["macs"].push_back(facts.macs);
    }
    for (auto& [name, family] : families) stats_.families.push_back(family);
    for (auto& [name, values] : sizes) {
      stats_.graph_sizes.push_back(Describe(name, std::move(values)));
    }
  }

  void CountStatus(PointStatus status, FamilyCount& family) {
    ++stats_.points;
    if (status == PointStatus::kTraced) {
      ++stats_.traced;
      ++family.traced;
    } else if (status == PointStatus::kFailed) {
      ++stats_.failed;
      ++family.failed;
    } else {
      ++stats_.untraced;
    }
  }

  using CoverageKey = std::tuple<std::string, std::string, Provenance>;

  void CountLabels() {
    std::map<CoverageKey, std::vector<Label>> groups;
    for (Label& label : dataset_.Labels()) {
      ++stats_.labels;
      groups[{label.device, label.source, label.provenance}].push_back(
          std::move(label));
    }
    for (const auto& [key, labels] : groups) {
      stats_.coverage.push_back(Cover(key, labels));
      for (const LabelQuantity& quantity : LabelQuantities()) {
        AddOutliers(labels, quantity);
      }
      for (const LabelQuantity& quantity : LabelQuantities()) {
        if (IsDrawn(quantity)) AddScatter(key, labels, quantity);
      }
    }
    std::ranges::stable_sort(
        stats_.outliers, std::greater(), [](const Outlier& outlier) {
          return std::abs(std::log(outlier.value / outlier.expected));
        });
  }

  LabelCoverage Cover(const CoverageKey& key,
                      const std::vector<Label>& labels) const {
    LabelCoverage coverage;
    std::tie(coverage.device, coverage.source, coverage.provenance) = key;
    std::set<RowId> points;
    std::map<std::string, std::int64_t> by_family;
    for (const Label& label : labels) {
      if (label.status == LabelStatus::kFailed) {
        ++coverage.failed;
        continue;
      }
      if (label.status == LabelStatus::kOutOfMemory) ++coverage.out_of_memory;
      if (!points.insert(label.point).second) continue;
      ++by_family[facts_.at(label.point).point.family];
    }
    coverage.points = std::ssize(points);
    for (const LabelQuantity& quantity : LabelQuantities()) {
      std::vector<double> values;
      for (const Label& label : labels) {
        if (label.*quantity.value) values.push_back(*(label.*quantity.value));
      }
      coverage.quantities.push_back(
          Describe(std::string(quantity.name), std::move(values)));
    }
    for (const FamilyCount& family : stats_.families) {
      coverage.family_shares.push_back(
          static_cast<double>(by_family[family.family]) /
          static_cast<double>(family.points));
    }
    return coverage;
  }

  void AddOutliers(const std::vector<Label>& labels,
                   const LabelQuantity& quantity) {
    std::map<std::tuple<Mode, Precision, std::string>,
             std::vector<const Label*>>
        groups;
    for (const Label& label : labels) {
      const PointFacts& facts = facts_.at(label.point);
      if (facts.macs <= 0 || (label.*quantity.value).value_or(0) <= 0) continue;
      groups[{facts.point.mode, facts.point.precision, facts.point.family}]
          .push_back(&label);
    }
    for (const auto& [key, members] : groups) {
      std::vector<WorkedLabel> worked;
      for (const Label* label : members) {
        worked.push_back(
            {facts_.at(label->point).macs, *(label->*quantity.value)});
      }
      for (const auto& [index, expected] : FindOutliers(worked)) {
        const Label& label = *members[index];
        stats_.outliers.push_back(
            {ToString(facts_.at(label.point).point), label.device, label.source,
             std::string(quantity.name), worked[index].value, expected});
      }
    }
  }

  void AddScatter(const CoverageKey& key, const std::vector<Label>& labels,
                  const LabelQuantity& quantity) {
    const auto& [device, source, provenance] = key;
    Scatter scatter{
        .title = fmt::format("{} on {} ({}, {})", quantity.name, device, source,
                             ProvenanceName(provenance)),
        .labels = {}};
    for (const Label& label : labels) {
      const double macs = facts_.at(label.point).macs;
      const double value = (label.*quantity.value).value_or(0);
      if (macs > 0 && value > 0) scatter.labels.push_back({macs, value});
    }
    if (!scatter.labels.empty()) stats_.scatters.push_back(std::move(scatter));
  }

  const Dataset& dataset_;
  Stats stats_;
  std::map<RowId, PointFacts> facts_;
};

}  // namespace

Distribution Describe(const std::string& name, std::vector<double> values) {
  Distribution distribution{.name = name, .count = std::ssize(values)};
  if (values.empty()) return distribution;
  std::ranges::sort(values);
  distribution.min = values.front();
  distribution.p5 = Quantile(values, 0.05);
  distribution.median = Quantile(values, 0.5);
  distribution.p95 = Quantile(values, 0.95);
  distribution.max = values.back();
  distribution.histogram = Histogram(values);
  return distribution;
}

std::vector<std::pair<std::size_t, double>> FindOutliers(
    const std::vector<WorkedLabel>& labels) {
  constexpr double kNormalConsistency = 1.4826;
  const double smallest = std::log(kOutlierFactor);
  if (labels.size() < kSmallestGroup) return {};
  const auto count = static_cast<double>(labels.size());
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const WorkedLabel& label : labels) {
    const double work = std::log(label.macs);
    const double value = std::log(label.value);
    x += work / count;
    y += value / count;
    xx += work * work / count;
    xy += work * value / count;
  }
  const double variance = xx - x * x;
  const double slope = variance > 1e-12 ? (xy - x * y) / variance : 0;
  std::vector<double> residuals;
  for (const WorkedLabel& label : labels) {
    residuals.push_back(std::log(label.value) - y -
                        slope * (std::log(label.macs) - x));
  }
  std::vector<double> sizes = residuals;
  for (double& size : sizes) size = std::abs(size);
  std::ranges::sort(sizes);
  const double limit = std::max(
      smallest, kOutlierDeviations * kNormalConsistency * Quantile(sizes, 0.5));
  std::vector<std::pair<std::size_t, double>> outliers;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (std::abs(residuals[i]) <= limit) continue;
    outliers.emplace_back(i, labels[i].value / std::exp(residuals[i]));
  }
  return outliers;
}

std::string OutlierRule() {
  return fmt::format(
      "labels more than a factor of {} and {} median absolute deviations from "
      "the line of log(value) over log(MACs) of a family with at least {} "
      "labels",
      kOutlierFactor, kOutlierDeviations, kSmallestGroup);
}

Stats ComputeStats(const Dataset& dataset) { return Counting(dataset).Run(); }

}  // namespace foretell::dataset
