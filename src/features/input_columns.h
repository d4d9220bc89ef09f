#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/device.h"
#include "foretell/features.h"
#include "src/features/targets.h"
#include "src/graph/setting.h"

namespace foretell::learned {

/// Source of a number that describes a whole graph.
enum class ColumnSource {
  kStatic,       ///< The static features: "macs", "batch", ….
  kDevice,       ///< The GPU: "sms", ….
  kPrior,        ///< A figure of the prior: "memory_mib", ….
  kPriorFigure,  ///< A further number of the prior: "compute_ms", ….
  kSetting,      ///< 1 where a field of the label's setting has a text, else 0.
};
std::string_view ColumnSourceName(ColumnSource source);
std::optional<ColumnSource> ParseColumnSource(std::string_view name);

/// Identifies a number of a graph that a network receives in addition to its
/// nodes.
struct ColumnKey {
  ColumnSource source = ColumnSource::kStatic;
  std::string key;         ///< A name within the source.
  std::string value = {};  ///< Text that a kSetting column compares with.

  bool operator==(const ColumnKey&) const = default;
};
/// "macs", "device.sms", "prior.memory_mib", "prior:compute_ms",
/// "environment.KEY=VALUE": for messages, and how schema 1 of checkpoints
/// stores a column.
std::string ToString(const ColumnKey& key);
/// Throws Error(kCorrupt) for a setting's column without a value.
ColumnKey ParseColumnKey(std::string_view text);

/// A number that a network receives, with its scale.
struct InputColumn {
  ColumnKey key;
  double offset = 0;
  double scale = 1;

  bool operator==(const InputColumn&) const = default;
};

/// Sources of columns.
struct InputSource {
  const StaticFeatures* statics = nullptr;
  const DeviceSpec* device = nullptr;      ///< For kDevice.
  Precision precision = Precision::kFp32;  ///< For the device's peak.
  const TargetValues* prior = nullptr;     ///< For kPrior.
  /// For kPriorFigure.
  const std::map<std::string, double>* prior_figures = nullptr;
  const Setting* setting = nullptr;  ///< For kSetting.
};

std::vector<ColumnKey> StaticColumns();
std::vector<ColumnKey> DeviceColumns();
std::vector<ColumnKey> PriorColumns(std::span<const Target> targets);

/// The number itself, before scaling. Throws Error(kInvalidArgument) for a key
/// that does not exist or whose source is missing, and for a device that lacks
/// the figure.
double RawInput(const ColumnKey& key, const InputSource& source);

/// (t(raw) - offset) · scale with t(x) = log2(1 + x), and log2(x) for figures
/// of the prior, which may be far below 1.
float ScaleInput(const InputColumn& column, double raw);

/// Columns that have mean 0 and deviation 1 over `rows`, each a number per
/// key. Columns that are constant keep scale 1.
std::vector<InputColumn> FitColumns(
    std::span<const ColumnKey> keys,
    std::span<const std::vector<double>* const> rows);

}  // namespace foretell::learned
