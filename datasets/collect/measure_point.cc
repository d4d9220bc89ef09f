#include "datasets/collect/measure_point.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "datasets/collect/device_name.h"
#include "datasets/collect/plan_sweep.h"
#include "datasets/collect/trace_point.h"
#include "src/core/failure.h"
#include "src/core/units.h"

namespace foretell::dataset {
namespace {

std::optional<double> LabelMib(std::optional<std::int64_t> bytes) {
  if (!bytes) return std::nullopt;
  return ToMiB(*bytes);
}

LabelStatus StatusOf(MeasureStatus status) {
  switch (status) {
    case MeasureStatus::kOk:
      return LabelStatus::kOk;
    case MeasureStatus::kOutOfMemory:
      return LabelStatus::kOutOfMemory;
    default:
      return LabelStatus::kFailed;
  }
}

std::string DetailsOf(nlohmann::json measurement) {
  for (const char* known :
       {"environment", "model", "format", "mode", "precision", "optimizer",
        "batch", "device", "inputs", "measured_at", "message"}) {
    measurement.erase(known);
  }
  return measurement.dump();
}

}  // namespace

std::string MeasureSource(const Run& run) {
  return fmt::format("foretell measure{}{}{}",
                     run.autocast ? " --autocast" : "",
                     run.channels_last ? " --channels-last" : "",
                     run.grad_mode ? " --grad" : "");
}

std::string MeasuredDeviceName(const std::string& device,
                               const std::string& name) {
  if (!name.empty()) return LabelDeviceName(name);
  if (device == "cpu") return device;
  throw InvalidArgument(
      "{} does not name a GPU model; add --device-name, e.g. a100-sxm4-40gb",
      device);
}

MeasureRequest RequestFor(const LabelTask& task, const MeasureSetup& setup) {
  const Point& point = task.point.point;
  MeasureRequest request{.model = ModelNameOf(point),
                         .load = {},
                         .inputs = {},
                         .run = setup.run,
                         .device = setup.device,
                         .options = setup.options};
  request.run.mode = point.mode;
  request.run.grad_mode &= point.mode == Mode::kInference;
  request.run.precision =
      setup.run.autocast ? Precision::kFp32 : point.precision;
  request.inputs.inputs = InputsOf(point);
  request.inputs.batch = point.batch;
  if (!point.optimizer.empty()) {
    request.run.optimizer = ParseOptimizer(point.optimizer);
  }
  request.options.energy = task.with_energy;
  return request;
}

Label LabelOf(const Measurement& measurement) {
  const nlohmann::json json =
      nlohmann::json::parse(MeasurementToJson(measurement));
  Label label{
      .setting = json.value("environment", nlohmann::json::object()).dump(),
      .status = StatusOf(measurement.status)};
  if (measurement.status == MeasureStatus::kOk) {
    label.memory_mib = LabelMib(measurement.memory.process_bytes);
    label.allocated_mib = LabelMib(measurement.memory.peak_allocated_bytes);
    label.reserved_mib = LabelMib(measurement.memory.peak_reserved_bytes);
    label.energy_j = measurement.energy.energy_j;
    if (measurement.latency) label.latency_ms = measurement.latency->median_ms;
  } else {
    label.reason = fmt::format("{}: {}", MeasureStatusName(measurement.status),
                               measurement.message);
  }
  label.details = DetailsOf(json);
  label.measured_at = measurement.measured_at;
  return label;
}

}  // namespace foretell::dataset
