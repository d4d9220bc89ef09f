#include "src/predict/apply_calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"
#include "src/predict/apply_adaptation.h"
#include "src/predict/calibrated_step.h"
#include "src/predict/model_field.h"

namespace foretell {
namespace {

using Place = CalibratedFactor::Place;

/// The model with {NAME} for all of its fields: those that it does not place
/// are added, as a sweep adds them.
std::string PatternOf(const Calibration& calibration) {
  std::string pattern = calibration.model;
  for (const CalibratedFactor& factor : calibration.factors) {
    if (factor.place != Place::kField) continue;
    pattern =
        WithField(std::move(pattern), factor.name, FieldPlace(factor.name));
  }
  return pattern;
}

/// A file may lie elsewhere; names of the zoo have no slash.
std::string_view WithoutFolder(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

/// What `name` has at the places of `pattern`; empty: they differ.
std::optional<FactorValues> FieldsOf(std::string_view pattern,
                                     std::string_view name) {
  FactorValues fields;
  while (!pattern.empty()) {
    if (pattern.front() != '{') {
      if (name.empty() || name.front() != pattern.front()) return {};
      pattern.remove_prefix(1);
      name.remove_prefix(1);
      continue;
    }
    const std::size_t end = pattern.find('}');
    const std::size_t digits =
        std::min(name.find_first_not_of("0123456789"), name.size());
    const auto number = ParseNumber<std::int64_t>(name.substr(0, digits));
    if (end == std::string_view::npos || !number) return {};
    const auto value = static_cast<double>(*number);
    const std::string field(pattern.substr(1, end - 1));
    if (fields.try_emplace(field, value).first->second != value) return {};
    pattern.remove_prefix(end + 1);
    name.remove_prefix(digits);
  }
  if (!name.empty()) return {};
  return fields;
}

double LengthOf(const Calibration& calibration, const CalibratedFactor& factor,
                const OperatorGraph& graph) {
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (input.name != factor.input) continue;
    if (factor.dim >= std::ssize(input.type.shape)) continue;
    return static_cast<double>(
        input.type.shape[static_cast<std::size_t>(factor.dim)]);
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} is dimension {} of the input '{}', which {} "
                          "does not have",
                          calibration.origin, factor.name, factor.dim,
                          factor.input, graph.info().name));
}

double SumOf(const std::vector<GapTerm>& gap, const std::vector<double>& at) {
  double sum = 0;
  for (const GapTerm& term : gap) {
    double product = term.coefficient;
    for (std::size_t i = 0; i < at.size(); ++i) {
      product *= std::pow(at[i], term.powers[i]);
    }
    sum += product;
  }
  return sum;
}

[[noreturn]] void RefuseOther(const Calibration& calibration,
                              std::string_view what, std::string_view mine,
                              std::string_view asked) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: was calibrated with {} {}; asked for is {}",
                          calibration.origin, what, mine, asked));
}

}  // namespace

GapAt GapOf(const Calibration& calibration, const OperatorGraph& graph) {
  const std::string pattern = PatternOf(calibration);
  const auto fields =
      FieldsOf(WithoutFolder(pattern), WithoutFolder(graph.info().name));
  if (!fields) {
    RefuseOther(calibration, "the model", pattern, graph.info().name);
  }
  GapAt gap;
  std::vector<double> at;
  FactorValues values;
  for (const CalibratedFactor& factor : calibration.factors) {
    double value = static_cast<double>(graph.info().batch);
    if (factor.place == Place::kField) value = fields->at(factor.name);
    if (factor.place == Place::kLength) {
      value = LengthOf(calibration, factor, graph);
    }
    values[factor.name] = value;
    at.push_back(std::clamp(value, factor.lowest, factor.highest));
    if (at.back() == value) continue;
    gap.outside.push_back(
        fmt::format("{} {}, of {} to {}", factor.name, FormatExact(value),
                    FormatExact(factor.lowest), FormatExact(factor.highest)));
  }
  if (calibration.step) {
    std::ranges::move(DifferencesFrom(*calibration.step, graph, values),
                      std::back_inserter(gap.outside));
  }
  gap.mib = SumOf(calibration.gap, at);
  return gap;
}

void CheckCalibration(const Calibration& calibration, const DeviceSpec& device,
                      const ContextModel& context, const Run& run,
                      const CachingAllocatorConfig& allocator) {
  if (calibration.measured_on == "cpu") {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: was measured on the CPU; predictions are of "
                            "GPUs, here {}",
                            calibration.origin, device.name));
  }
  if (calibration.device != device.name) {
    RefuseOther(calibration, "device", calibration.device, device.name);
  }
  if (calibration.context != context.name) {
    RefuseOther(calibration, "environment", calibration.context, context.name);
  }
  if (allocator.expandable_segments) {
    RefuseOther(calibration, "allocator", "PyTorch's default",
                "--expandable-segments");
  }
  Run mine = calibration.run;
  mine.host = run.host;
  RequireSameRun(calibration.origin, mine, run);
}

void MarkCalibrated(const Calibration& calibration, const GapAt& gap,
                    Figure& memory) {
  const double width = 1 + calibration.largest_error_left_out;
  const Interval runs = {memory.value / width, memory.value * width};
  if (gap.outside.empty()) {
    memory.interval = runs;
  } else {
    memory.interval = {std::min(runs.lo, memory.interval.lo),
                       std::max(runs.hi, memory.interval.hi)};
    memory.warnings.push_back(
        fmt::format("memory: {} lies outside of the runs of {}; calibrated by "
                    "the nearest",
                    Joined(gap.outside), calibration.origin));
  }
  if (!calibration.step) {
    memory.warnings.push_back(
        fmt::format("memory: {} does not say at which other sizes its runs "
                    "were; calibrate again to have them compared",
                    calibration.origin));
  }
  memory.source.method +=
      fmt::format(", calibrated by {} of {}", Counted(calibration.runs, "run"),
                  calibration.model);
}

}  // namespace foretell
