#include "src/features/input_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/core/failure.h"
#include "src/core/name_table.h"
#include "src/features/feature_table.h"

namespace foretell::learned {
namespace {

constexpr NameTable<5> kSourceNames = {"static", "device", "prior",
                                       "prior_figure", "setting"};
/// What precedes the key of each source as text.
constexpr NameTable<5> kPrefixes = {"", "device.", "prior.",
                                    "prior:", "environment."};
/// Deviations below this are rounding, not differences.
constexpr double kConstant = 1e-9;

double Peak(const DeviceSpec& device, Precision precision) {
  const auto found = device.peak_tflops.find(precision);
  return found == device.peak_tflops.end() ? 0 : found->second;
}

struct DeviceColumn {
  std::string_view key;
  double (*value)(const DeviceSpec&, Precision);
};

constexpr std::array<DeviceColumn, 6> kDeviceColumns = {{
    {"bandwidth_gb_s",
     [](const DeviceSpec& device, Precision) { return device.bandwidth_gb_s; }},
    {"peak_tflops", &Peak},
    {"sms",
     [](const DeviceSpec& device, Precision) -> double { return device.sms; }},
    {"memory_mib",
     [](const DeviceSpec& device, Precision) {
       return static_cast<double>(device.memory_mib);
     }},
    {"l2_mib",
     [](const DeviceSpec& device, Precision) { return device.l2_mib; }},
    {"max_power_w",
     [](const DeviceSpec& device, Precision) { return device.max_power_w; }},
}};

[[noreturn]] void RefuseInput(const ColumnKey& key, const std::string& what) {
  throw InvalidArgument("input '{}' {}", ToString(key), what);
}

double StaticInput(const ColumnKey& key, const InputSource& source) {
  const auto* const feature =
      std::ranges::find(kStaticFeatures, key.key, &StaticFeature::name);
  if (feature == kStaticFeatures.end()) RefuseInput(key, "is not known");
  if (source.statics == nullptr) RefuseInput(key, "needs a graph");
  return static_cast<double>(source.statics->*feature->count);
}

double DeviceInput(const ColumnKey& key, const InputSource& source) {
  const auto* column =
      std::ranges::find(kDeviceColumns, key.key, &DeviceColumn::key);
  if (column == kDeviceColumns.end()) RefuseInput(key, "is not known");
  if (source.device == nullptr) RefuseInput(key, "needs a device");
  const double value = column->value(*source.device, source.precision);
  if (value <= 0) {
    RefuseInput(key, fmt::format("is unknown for {} at {}", source.device->name,
                                 PrecisionName(source.precision)));
  }
  return value;
}

double PriorInput(const ColumnKey& key, const InputSource& source) {
  const std::optional<Target> target = ParseTarget(key.key);
  if (!target || source.prior == nullptr) RefuseInput(key, "needs a prior");
  const double value = ValueOf(*source.prior, *target);
  if (!(value > 0)) RefuseInput(key, "is not known of every graph");
  return value;
}

double PriorFigure(const ColumnKey& key, const InputSource& source) {
  if (source.prior_figures == nullptr) RefuseInput(key, "needs a prior");
  const auto found = source.prior_figures->find(key.key);
  if (found == source.prior_figures->end()) {
    RefuseInput(key, "is not a figure of the prior");
  }
  return found->second;
}

double SettingInput(const ColumnKey& key, const InputSource& source) {
  if (source.setting == nullptr) RefuseInput(key, "needs a setting");
  return source.setting->ValueOf(key.key) == key.value ? 1 : 0;
}

/// In the order of ColumnSource.
constexpr std::array<double (*)(const ColumnKey&, const InputSource&), 5>
    kInputs = {&StaticInput, &DeviceInput, &PriorInput, &PriorFigure,
               &SettingInput};

double Transformed(const ColumnKey& key, double raw) {
  return key.source == ColumnSource::kPrior ? std::log2(raw)
                                            : std::log2(1 + raw);
}

}  // namespace

std::string_view ColumnSourceName(ColumnSource source) {
  return NameIn(kSourceNames, source);
}

std::optional<ColumnSource> ParseColumnSource(std::string_view name) {
  return FindIn<ColumnSource>(kSourceNames, name);
}

std::string ToString(const ColumnKey& key) {
  std::string text(NameIn(kPrefixes, key.source));
  text += key.key;
  if (key.source == ColumnSource::kSetting) text += "=" + key.value;
  return text;
}

ColumnKey ParseColumnKey(std::string_view text) {
  // The first prefix is empty: what no other one begins.
  std::size_t source = kPrefixes.size() - 1;
  while (!text.starts_with(kPrefixes.at(source))) --source;
  ColumnKey key{.source = static_cast<ColumnSource>(source),
                .key = std::string(text.substr(kPrefixes.at(source).size()))};
  if (key.source != ColumnSource::kSetting) return key;
  const std::size_t equals = key.key.find('=');
  if (equals == std::string::npos) {
    throw Corrupt("input '{}' names no value", text);
  }
  key.value = key.key.substr(equals + 1);
  key.key.resize(equals);
  return key;
}

std::vector<ColumnKey> StaticColumns() {
  std::vector<ColumnKey> keys;
  for (const StaticFeature& feature : kStaticFeatures) {
    keys.push_back({ColumnSource::kStatic, std::string(feature.name)});
  }
  return keys;
}

std::vector<ColumnKey> DeviceColumns() {
  std::vector<ColumnKey> keys;
  for (const DeviceColumn& column : kDeviceColumns) {
    keys.push_back({ColumnSource::kDevice, std::string(column.key)});
  }
  return keys;
}

std::vector<ColumnKey> PriorColumns(std::span<const Target> targets) {
  std::vector<ColumnKey> keys;
  for (const Target target : targets) {
    keys.push_back({ColumnSource::kPrior, std::string(TargetField(target))});
  }
  return keys;
}

double RawInput(const ColumnKey& key, const InputSource& source) {
  return kInputs.at(static_cast<std::size_t>(key.source))(key, source);
}

float ScaleInput(const InputColumn& column, double raw) {
  return static_cast<float>((Transformed(column.key, raw) - column.offset) *
                            column.scale);
}

std::vector<InputColumn> FitColumns(
    std::span<const ColumnKey> keys,
    std::span<const std::vector<double>* const> rows) {
  std::vector<InputColumn> columns;
  const double count = std::max<double>(1, static_cast<double>(rows.size()));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    double sum = 0;
    for (const auto* row : rows) sum += Transformed(keys[i], row->at(i));
    const double mean = sum / count;
    double squares = 0;
    for (const auto* row : rows) {
      squares += std::pow(Transformed(keys[i], row->at(i)) - mean, 2);
    }
    const double deviation = std::sqrt(squares / count);
    columns.push_back(
        {keys[i], mean, deviation > kConstant ? 1 / deviation : 1});
  }
  return columns;
}

}  // namespace foretell::learned
