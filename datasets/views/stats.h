#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/dataset.h"

namespace foretell::dataset {

struct FamilyCount {
  std::string family;
  std::int64_t models = 0;  ///< Different names.
  std::int64_t points = 0;
  std::int64_t traced = 0;
  std::int64_t failed = 0;
};

/// Distribution of values; of positive ones also on a logarithmic scale.
struct Distribution {
  std::string name;
  std::int64_t count = 0;
  double min = 0;
  double p5 = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
  /// Counts of equal steps of the logarithm from `min` to `max`; empty when no
  /// value is positive.
  std::vector<std::int64_t> histogram;
};

/// Labels of one device, source and provenance.
struct LabelCoverage {
  std::string device;
  std::string source;
  Provenance provenance = Provenance::kMeasured;
  std::int64_t points = 0;  ///< With a result; each once.
  std::int64_t out_of_memory = 0;
  std::int64_t failed = 0;
  /// One per LabelQuantity, of the existing values.
  std::vector<Distribution> quantities;
  /// Share of the points of each family, in the order of Stats::families.
  std::vector<double> family_shares;
};

/// A label far from the fit to similar labels, see OutlierRule.
struct Outlier {
  std::string point;
  std::string device;
  std::string source;
  std::string quantity;
  double value = 0;
  double expected = 0;
};

/// A label in a chart of cost against work.
struct WorkedLabel {
  double macs = 0;
  double value = 0;
};

/// Latencies, or total memory, of one device and source.
struct Scatter {
  std::string title;  ///< "latency_ms on a100 (foretell analytic, simulated)".
  std::vector<WorkedLabel> labels;
};

struct Stats {
  std::string path;
  std::int64_t points = 0;
  std::int64_t traced = 0;
  std::int64_t failed = 0;
  std::int64_t untraced = 0;
  std::int64_t graphs = 0;
  std::int64_t labels = 0;
  std::vector<FamilyCount> families;      ///< By name.
  std::vector<Distribution> graph_sizes;  ///< Sizes of traced points.
  std::vector<LabelCoverage> coverage;
  std::vector<Outlier> outliers;  ///< The farthest first.
  std::vector<Scatter> scatters;
  std::vector<std::string> splits;
};

/// Computes all statistics.
///
/// Outliers: within one device, source, mode, precision and family, the
/// logarithm of each quantity is fitted by a straight line in the logarithm of
/// MACs; OutlierRule has the limits. Median absolute deviations are the
/// normal-consistent ones.
Stats ComputeStats(const Dataset& dataset);

/// Tables for a terminal.
std::string FormatStats(const Stats& stats);
/// The same as a JSON document; docs/dataset.md has its fields.
std::string StatsToJson(const Stats& stats);
/// A self-contained page with tables and pictures.
std::string StatsToHtml(const Stats& stats);

/// When a label is an outlier, in words with the limits.
std::string OutlierRule();

/// Count, extremes, percentiles and histogram of `values`.
Distribution Describe(const std::string& name, std::vector<double> values);

/// Residuals of log(value) about the line in log(macs), as indices into
/// `labels` with their expected values, by the rule above.
std::vector<std::pair<std::size_t, double>> FindOutliers(
    const std::vector<WorkedLabel>& labels);

}  // namespace foretell::dataset
