#include <algorithm>
#include <string>
#include <utility>

#include "foretell/measure.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

void DescribeLatency(JsonFields& fields, LatencyStatistics& latency) {
  fields.Optional("runs", latency.runs);
  fields.Optional("median_ms", latency.median_ms);
  fields.Optional("mean_ms", latency.mean_ms);
  fields.Optional("p5_ms", latency.p5_ms);
  fields.Optional("p95_ms", latency.p95_ms);
}

void DescribeMemory(JsonFields& fields, MeasuredMemory& memory) {
  fields.Optional("peak_allocated_bytes", memory.peak_allocated_bytes);
  fields.Optional("peak_reserved_bytes", memory.peak_reserved_bytes);
  fields.Optional("process_bytes", memory.process_bytes);
  fields.TextOrNull("process_source", memory.process_source);
  fields.Optional("context_bytes", memory.context_bytes);
  fields.Optional("peak_rss_bytes", memory.peak_rss_bytes);
}

void DescribeEnergy(JsonFields& fields, MeasuredEnergy& energy) {
  fields.Optional("energy_j", energy.energy_j);
  fields.Optional("relative_spread", energy.relative_spread);
  fields.Optional("power_w", energy.power_w);
  fields.Optional("idle_power_w", energy.idle_power_w);
  fields.Optional("window_s", energy.window_s);
  fields.Optional("counter_steps", energy.counter_steps);
  fields.Optional("runs", energy.runs);
  fields.TextOrNull("source", energy.source);
}

void DescribeState(JsonFields& fields, DeviceState& state) {
  fields.Optional("sm_clock_mhz", state.sm_clock_mhz);
  fields.Optional("memory_clock_mhz", state.memory_clock_mhz);
  fields.Optional("temperature_c", state.temperature_c);
  fields.Optional("power_limit_w", state.power_limit_w);
  fields.Optional("throttle_reasons", state.throttle_reasons);
}

void DescribeEnvironment(JsonFields& fields, MeasureEnvironment& environment) {
  fields.TextOrNull("device_name", environment.device_name);
  fields.TextOrNull("libtorch", environment.libtorch);
  fields.Optional("driver", environment.driver);
  fields.Optional("cuda", environment.cuda);
  fields.Optional("cuda_driver", environment.cuda_driver);
  fields.Optional("cudnn", environment.cudnn);
  fields.Optional("max_sm_clock_mhz", environment.max_sm_clock_mhz);
  fields.Optional("is_mig", environment.is_mig);
  fields.Optional("threads", environment.threads);
  fields.Optional("tf32_matmul", environment.tf32_matmul);
  fields.Optional("tf32_cudnn", environment.tf32_cudnn);
  fields.Optional("cudnn_benchmark", environment.cudnn_benchmark);
  fields.Optional("cudnn_deterministic", environment.cudnn_deterministic);
  fields.Optional("autocast", environment.autocast);
  fields.Optional("grad_mode", environment.grad_mode);
  fields.TextOrNull("memory_format", environment.memory_format);
}

void DescribeInput(JsonFields& fields, BoundInput& input) {
  fields.Optional("name", input.name);
  if (fields.IsGiven("dtype")) {
    fields.Named("dtype", input.type.dtype, &DTypeName, &ParseDType);
  }
  fields.Optional("shape", input.type.shape);
}

void DescribeNote(JsonFields& fields, MeasureNote& note) {
  fields.Optional("what", note.what);
  fields.Optional("reason", note.reason);
}

/// An object that may be missing.
template <typename T>
void DescribePart(JsonFields& fields, const char* key, T& values,
                  void (*describe)(JsonFields&, T&)) {
  if (!fields.IsGiven(key)) return;
  fields.Object(key, [&](JsonFields& in) { describe(in, values); });
}

void DescribeRow(JsonFields& fields, Measurement& m) {
  fields.Value("model", m.model);
  fields.TextOrNull("format", m.format);
  if (fields.IsGiven("mode")) {
    fields.Named("mode", m.mode, &ModeName, &ParseMode);
  }
  fields.TextOrNull("optimizer", m.optimizer);
  if (fields.IsGiven("precision")) {
    fields.Named("precision", m.precision, &PrecisionName, &ParsePrecision);
  }
  fields.Optional("batch", m.batch);
  fields.Optional("device", m.device);
  if (fields.IsGiven("inputs")) {
    fields.Objects("inputs", m.inputs, &DescribeInput);
  }
  fields.Optional("seed", m.seed);
  fields.Named("status", m.status, &MeasureStatusName, &ParseMeasureStatus);
  fields.TextOrNull("message", m.message);
  fields.Optional("measured_at", m.measured_at);
  fields.ObjectOrNull("latency", m.latency, &DescribeLatency);
  DescribePart(fields, "memory", m.memory, &DescribeMemory);
  DescribePart(fields, "energy", m.energy, &DescribeEnergy);
  DescribePart(fields, "state", m.state, &DescribeState);
  DescribePart(fields, "environment", m.environment, &DescribeEnvironment);
  if (fields.IsGiven("notes")) {
    fields.Objects("notes", m.notes, &DescribeNote);
  }
  fields.Optional("warnings", m.warnings);
}

}  // namespace

std::string MeasurementToJson(const Measurement& measurement) {
  return DumpJson(WriteFields(measurement, &DescribeRow), kOneLine);
}

Measurement MeasurementFromJson(std::string_view json) {
  constexpr char kOrigin[] = "measurement";
  const nlohmann::json document = ParseJson(json, kOrigin);
  return ReadFields<Measurement>(
      JsonObject(document, kOrigin, "", UnknownFields::kIgnored), &DescribeRow);
}

std::string MeasurementsToJson(std::span<const Measurement> measurements) {
  Json rows = Json::array();
  for (const Measurement& row : measurements) {
    rows.push_back(WriteFields(row, &DescribeRow));
  }
  return DumpJson({{"schema_version", kMeasurementSchemaVersion},
                   {"measurements", std::move(rows)}});
}

std::string EnvironmentsToJson(std::span<const Measurement> measurements) {
  Json list = Json::array();
  for (const Measurement& row : measurements) {
    if (row.environment.device_name.empty()) continue;
    const Json entry = {
        {"device", row.device},
        {"environment", WriteFields(row.environment, &DescribeEnvironment)}};
    if (std::find(list.begin(), list.end(), entry) == list.end()) {
      list.push_back(entry);
    }
  }
  return DumpJson({{"schema_version", kMeasurementSchemaVersion},
                   {"environments", std::move(list)}});
}

}  // namespace foretell
