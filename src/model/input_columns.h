#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/features.h"
#include "src/model/setting.h"
#include "src/model/targets.h"

namespace foretell::model {

/// A number of a graph as a whole that a network sees beside its nodes.
///
/// The name says which one: "macs", "batch", … are the static features;
/// "device.sms", … figures of the GPU; "prior.memory_mib", … estimates of the
/// prior; "prior:NAME" a further figure of the prior; "environment.KEY=VALUE"
/// is 1 where the label's setting says so, else 0.
struct InputColumn {
  std::string name;
  double offset = 0;
  double scale = 1;

  bool operator==(const InputColumn&) const = default;
};

/// What columns are taken from.
struct InputSource {
  const StaticFeatures* statics = nullptr;
  const DeviceSpec* device = nullptr;      ///< For "device.…".
  Precision precision = Precision::kFp32;  ///< For "device.peak_tflops".
  const TargetValues* prior = nullptr;     ///< For "prior.…".
  const std::map<std::string, double>* prior_figures = nullptr;  ///< "prior:…".
  const Setting* setting = nullptr;  ///< For "environment.…".
};

std::vector<std::string> StaticColumnNames();
std::vector<std::string> DeviceColumnNames();
/// "prior." and the field of each target.
std::vector<std::string> PriorColumnNames(std::span<const Target> targets);

/// The number itself, before scaling. Throws Error(kInvalidArgument) for a name
/// that does not exist or whose source is missing, and for a device that lacks
/// the figure.
double RawInput(const std::string& name, const InputSource& source);

/// (t(raw) - offset) · scale with t(x) = log2(1 + x), and log2(x) for columns
/// of the prior, which may be far below 1.
float ScaleInput(const InputColumn& column, double raw);

/// Columns that have mean 0 and deviation 1 over `rows`, each a number per
/// name. Columns that are constant keep scale 1.
std::vector<InputColumn> FitColumns(
    const std::vector<std::string>& names,
    std::span<const std::vector<double>* const> rows);

}  // namespace foretell::model
