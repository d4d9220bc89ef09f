#include "src/correct/fit_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "foretell/cost.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/statistics.h"
#include "src/cost/machine.h"

namespace foretell {
namespace {

/// Logarithm by which a row may scatter without losing weight.
constexpr double kScatter = 0.1;
/// Standard deviations of the logarithms of rows and of constants around the
/// start: only where no row depends on a constant does the second one count.
constexpr double kFitDeviation = 0.05;
constexpr double kPriorDeviation = 2;
/// Change of a constant's logarithm by which derivatives are taken.
constexpr double kNudge = 0.02;
constexpr double kLargestStep = 0.7;
constexpr double kSmallestStep = 1e-4;
constexpr int kMostRounds = 60;

/// A constant and the place where it is stored.
struct Knob {
  std::string name;
  std::function<double&(DeviceConstants&)> at;
};

std::vector<Knob> KnobsOf(std::span<const DeviceRow> rows) {
  std::vector<Knob> knobs = {
      {"host factor",
       [](DeviceConstants& c) -> double& { return c.host_factor; }},
      {"launch_us",
       [](DeviceConstants& c) -> double& { return c.device.launch_us; }},
      {"reached_bandwidth_gb_s", [](DeviceConstants& c) -> double& {
         return c.device.reached_bandwidth_gb_s;
       }}};
  std::set<Precision> precisions;
  for (const DeviceRow& row : rows) precisions.insert(row.run.precision);
  for (const Precision precision : precisions) {
    knobs.push_back({fmt::format("matmul_tflops.{}", PrecisionName(precision)),
                     [precision](DeviceConstants& c) -> double& {
                       return c.device.matmul_tflops[precision];
                     }});
  }
  return knobs;
}

/// With what the model takes for a constant that the file does not state.
DeviceConstants Stated(DeviceConstants constants,
                       std::span<const DeviceRow> rows) {
  DeviceSpec& device = constants.device;
  device.launch_us = cost::LaunchUs(device);
  device.reached_bandwidth_gb_s = cost::ReachedBandwidth(device);
  for (const DeviceRow& row : rows) {
    const Precision precision = row.run.precision;
    device.matmul_tflops[precision] = cost::ReachedTflops(device, precision);
  }
  return constants;
}

double Residual(const DeviceRow& row, const DeviceConstants& constants) {
  return std::log(row.measured_ms / PredictMs(row, constants));
}

/// The step of one constant's logarithm that makes the weighted squares of the
/// residuals and its own distance from the start least.
double StepOf(std::span<const DeviceRow> rows, const Knob& knob,
              DeviceConstants constants, double log_from_start) {
  DeviceConstants nudged = constants;
  knob.at(nudged) *= std::exp(kNudge);
  const double prior = std::pow(kFitDeviation / kPriorDeviation, 2);
  double slope = -prior * log_from_start;
  double curvature = prior;
  for (const DeviceRow& row : rows) {
    if (row.held_out) continue;
    const double residual = Residual(row, constants);
    const double change = (residual - Residual(row, nudged)) / kNudge;
    const double weight = 1 / (1 + std::pow(residual / kScatter, 2));
    slope += weight * change * residual;
    curvature += weight * change * change;
  }
  return std::clamp(slope / curvature, -kLargestStep, kLargestStep);
}

RowErrors ErrorOf(std::span<const DeviceRow> rows,
                  const DeviceConstants& constants) {
  const bool all = std::ranges::none_of(rows, &DeviceRow::held_out);
  std::vector<double> errors;
  for (const DeviceRow& row : rows) {
    if (!all && !row.held_out) continue;
    errors.push_back(std::abs(PredictMs(row, constants) / row.measured_ms - 1));
  }
  std::ranges::sort(errors);
  return {.median = Quantile(errors, 0.5),
          .mean = std::accumulate(errors.begin(), errors.end(), 0.0) /
                  static_cast<double>(errors.size())};
}

void RequireEnough(std::span<const DeviceRow> rows, std::size_t constants) {
  const auto fitted = static_cast<std::size_t>(
      std::ranges::count(rows, false, &DeviceRow::held_out));
  if (fitted >= constants) return;
  throw InvalidArgument(
      "{} to fit, expected at least {}, one for each constant",
      Counted(fitted, "row"), constants);
}

/// A file may not state more than the data sheet's bandwidth.
void LimitBandwidth(DeviceSpec& device) {
  device.reached_bandwidth_gb_s =
      std::min(device.reached_bandwidth_gb_s, device.bandwidth_gb_s);
}

}  // namespace

double PredictMs(const DeviceRow& row, const DeviceConstants& constants) {
  return EstimateCost(row.graph, constants.device,
                      {.host_factor = constants.host_factor, .run = row.run})
      .latency_ms;
}

DeviceFit FitDevice(std::span<const DeviceRow> rows,
                    const DeviceConstants& start) {
  const std::vector<Knob> knobs = KnobsOf(rows);
  RequireEnough(rows, knobs.size());
  DeviceConstants first = Stated(start, rows);
  DeviceConstants found = first;
  double largest = kLargestStep;
  for (int i = 0; i < kMostRounds && largest > kSmallestStep; ++i) {
    largest = 0;
    for (const Knob& knob : knobs) {
      const double moved = std::log(knob.at(found) / knob.at(first));
      const double step = StepOf(rows, knob, found, moved);
      knob.at(found) *= std::exp(step);
      LimitBandwidth(found.device);
      largest = std::max(largest, std::abs(step));
    }
  }
  DeviceFit fit{.found = found,
                .held_out = static_cast<int>(
                    std::ranges::count(rows, true, &DeviceRow::held_out)),
                .before = ErrorOf(rows, first),
                .after = ErrorOf(rows, found)};
  if (fit.held_out == 0) fit.held_out = static_cast<int>(rows.size());
  for (const Knob& knob : knobs) {
    fit.constants.push_back({knob.name, knob.at(first), knob.at(found)});
  }
  return fit;
}

}  // namespace foretell
