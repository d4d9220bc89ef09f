#include "src/model/input_columns.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "foretell/error.h"

namespace foretell::model {
namespace {

constexpr std::string_view kPriorPrefix = "prior.";
constexpr std::string_view kPriorFigurePrefix = "prior:";
constexpr std::string_view kSettingPrefix = "environment.";
/// Deviations below this are rounding, not differences.
constexpr double kConstant = 1e-9;

double Peak(const DeviceSpec& device, Precision precision) {
  const auto found = device.peak_tflops.find(precision);
  return found == device.peak_tflops.end() ? 0 : found->second;
}

struct DeviceColumn {
  std::string_view name;
  double (*value)(const DeviceSpec&, Precision);
};

constexpr std::array<DeviceColumn, 6> kDeviceColumns = {{
    {"device.bandwidth_gb_s",
     [](const DeviceSpec& device, Precision) { return device.bandwidth_gb_s; }},
    {"device.peak_tflops", &Peak},
    {"device.sms",
     [](const DeviceSpec& device, Precision) -> double { return device.sms; }},
    {"device.memory_mib",
     [](const DeviceSpec& device, Precision) {
       return static_cast<double>(device.memory_mib);
     }},
    {"device.l2_mib",
     [](const DeviceSpec& device, Precision) { return device.l2_mib; }},
    {"device.max_power_w",
     [](const DeviceSpec& device, Precision) { return device.max_power_w; }},
}};

[[noreturn]] void RefuseInput(const std::string& name,
                              const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "input '" + name + "' " + what);
}

double DeviceInput(const DeviceColumn& column, const std::string& name,
                   const InputSource& source) {
  if (source.device == nullptr) RefuseInput(name, "needs a device");
  const double value = column.value(*source.device, source.precision);
  if (value <= 0) {
    RefuseInput(name, "is unknown for " + source.device->name + " at " +
                          std::string(PrecisionName(source.precision)));
  }
  return value;
}

double PriorInput(const std::string& name, const InputSource& source) {
  const std::optional<Target> target =
      ParseTarget(std::string_view(name).substr(kPriorPrefix.size()));
  if (!target || source.prior == nullptr) RefuseInput(name, "needs a prior");
  const double value = ValueOf(*source.prior, *target);
  if (!(value > 0)) RefuseInput(name, "is not known of every graph");
  return value;
}

double PriorFigure(const std::string& name, const InputSource& source) {
  if (source.prior_figures == nullptr) RefuseInput(name, "needs a prior");
  const auto found =
      source.prior_figures->find(name.substr(kPriorFigurePrefix.size()));
  if (found == source.prior_figures->end()) {
    RefuseInput(name, "is not a figure of the prior");
  }
  return found->second;
}

double SettingInput(const std::string& name, const InputSource& source) {
  if (source.setting == nullptr) RefuseInput(name, "needs a setting");
  const std::size_t equals = name.find('=');
  if (equals == std::string::npos) RefuseInput(name, "names no value");
  const std::string key = name.substr(kSettingPrefix.size(),
                                      equals - kSettingPrefix.size());
  const std::string value = source.setting->ValueOf(key);
  return value == std::string_view(name).substr(equals + 1) ? 1 : 0;
}

double Transformed(const std::string& name, double raw) {
  return name.starts_with(kPriorPrefix) ? std::log2(raw) : std::log2(1 + raw);
}

}  // namespace

std::vector<std::string> StaticColumnNames() {
  std::vector<std::string> names;
  for (const FeatureSlot& slot : StaticFeatureSlots()) {
    names.emplace_back(slot.name);
  }
  return names;
}

std::vector<std::string> DeviceColumnNames() {
  std::vector<std::string> names;
  for (const DeviceColumn& column : kDeviceColumns) {
    names.emplace_back(column.name);
  }
  return names;
}

std::vector<std::string> PriorColumnNames(std::span<const Target> targets) {
  std::vector<std::string> names;
  for (const Target target : targets) {
    names.push_back(std::string(kPriorPrefix) +
                    std::string(TargetField(target)));
  }
  return names;
}

double RawInput(const std::string& name, const InputSource& source) {
  const std::vector<std::string> statics = StaticColumnNames();
  const auto slot = std::ranges::find(statics, name);
  if (slot != statics.end()) {
    if (source.statics == nullptr) RefuseInput(name, "needs a graph");
    return source.statics->ToArray().at(
        static_cast<std::size_t>(slot - statics.begin()));
  }
  const auto* device =
      std::ranges::find(kDeviceColumns, name, &DeviceColumn::name);
  if (device != kDeviceColumns.end()) {
    return DeviceInput(*device, name, source);
  }
  if (name.starts_with(kPriorPrefix)) return PriorInput(name, source);
  if (name.starts_with(kPriorFigurePrefix)) return PriorFigure(name, source);
  if (name.starts_with(kSettingPrefix)) {
    return SettingInput(name, source);
  }
  RefuseInput(name, "is not known");
}

float ScaleInput(const InputColumn& column, double raw) {
  return static_cast<float>((Transformed(column.name, raw) - column.offset) *
                            column.scale);
}

std::vector<InputColumn> FitColumns(
    const std::vector<std::string>& names,
    std::span<const std::vector<double>* const> rows) {
  std::vector<InputColumn> columns;
  const double count = std::max<double>(1, static_cast<double>(rows.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    double sum = 0;
    for (const auto* row : rows) sum += Transformed(names[i], row->at(i));
    const double mean = sum / count;
    double squares = 0;
    for (const auto* row : rows) {
      squares += std::pow(Transformed(names[i], row->at(i)) - mean, 2);
    }
    const double deviation = std::sqrt(squares / count);
    columns.push_back(
        {names[i], mean, deviation > kConstant ? 1 / deviation : 1});
  }
  return columns;
}

}  // namespace foretell::model
