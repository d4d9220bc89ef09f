#include <algorithm>
#include <string>
#include <utility>

#include "foretell/measure.h"
#include "src/core/json_object.h"
#include "src/core/json_text.h"
#include "src/measure/json_fields.h"

namespace foretell {
namespace {

using measure::FieldJson;
using measure::FieldsToJson;
using measure::Json;
using measure::ReadFields;

/// @name The fields of each object, in the order of the JSON.
/// @{

constexpr auto kLatencyFields = [](auto& latency, auto&& visit) {
  visit("runs", latency.runs);
  visit("median_ms", latency.median_ms);
  visit("mean_ms", latency.mean_ms);
  visit("p5_ms", latency.p5_ms);
  visit("p95_ms", latency.p95_ms);
};

constexpr auto kMemoryFields = [](auto& memory, auto&& visit) {
  visit("peak_allocated_bytes", memory.peak_allocated_bytes);
  visit("peak_reserved_bytes", memory.peak_reserved_bytes);
  visit("process_bytes", memory.process_bytes);
  visit("process_source", memory.process_source);
  visit("context_bytes", memory.context_bytes);
  visit("peak_rss_bytes", memory.peak_rss_bytes);
};

constexpr auto kEnergyFields = [](auto& energy, auto&& visit) {
  visit("energy_j", energy.energy_j);
  visit("relative_spread", energy.relative_spread);
  visit("power_w", energy.power_w);
  visit("idle_power_w", energy.idle_power_w);
  visit("window_s", energy.window_s);
  visit("counter_steps", energy.counter_steps);
  visit("runs", energy.runs);
  visit("source", energy.source);
};

constexpr auto kStateFields = [](auto& state, auto&& visit) {
  visit("sm_clock_mhz", state.sm_clock_mhz);
  visit("memory_clock_mhz", state.memory_clock_mhz);
  visit("temperature_c", state.temperature_c);
  visit("power_limit_w", state.power_limit_w);
  visit("throttle_reasons", state.throttle_reasons);
};

constexpr auto kEnvironmentFields = [](auto& environment, auto&& visit) {
  visit("device_name", environment.device_name);
  visit("libtorch", environment.libtorch);
  visit("driver", environment.driver);
  visit("cuda", environment.cuda);
  visit("cuda_driver", environment.cuda_driver);
  visit("cudnn", environment.cudnn);
  visit("max_sm_clock_mhz", environment.max_sm_clock_mhz);
  visit("is_mig", environment.is_mig);
  visit("threads", environment.threads);
  visit("tf32_matmul", environment.tf32_matmul);
  visit("tf32_cudnn", environment.tf32_cudnn);
  visit("cudnn_benchmark", environment.cudnn_benchmark);
  visit("cudnn_deterministic", environment.cudnn_deterministic);
  visit("autocast", environment.autocast);
  visit("grad_mode", environment.grad_mode);
  visit("memory_format", environment.memory_format);
};

/// @}

Json NotesJson(const std::vector<MeasureNote>& notes) {
  Json list = Json::array();
  for (const MeasureNote& note : notes) {
    list.push_back({{"what", note.what}, {"reason", note.reason}});
  }
  return list;
}

std::vector<MeasureNote> ReadNotes(JsonObject& object) {
  std::vector<MeasureNote> notes;
  if (!object.IsGiven("notes")) return notes;
  for (JsonObject& entry : object.Objects("notes")) {
    MeasureNote note;
    entry.Read("what", note.what);
    entry.Read("reason", note.reason);
    notes.push_back(std::move(note));
  }
  return notes;
}

Json ToJson(const Measurement& m) {
  return {{"model", m.model},
          {"format", FieldJson(m.format)},
          {"mode", ModeName(m.mode)},
          {"optimizer", FieldJson(m.optimizer)},
          {"precision", PrecisionName(m.precision)},
          {"batch", FieldJson(m.batch)},
          {"device", m.device},
          {"inputs", measure::InputsToJson(m.inputs)},
          {"seed", m.seed},
          {"status", MeasureStatusName(m.status)},
          {"message", FieldJson(m.message)},
          {"measured_at", m.measured_at},
          {"latency", m.latency ? FieldsToJson(*m.latency, kLatencyFields)
                                : Json(nullptr)},
          {"memory", FieldsToJson(m.memory, kMemoryFields)},
          {"energy", FieldsToJson(m.energy, kEnergyFields)},
          {"state", FieldsToJson(m.state, kStateFields)},
          {"environment", FieldsToJson(m.environment, kEnvironmentFields)},
          {"notes", NotesJson(m.notes)},
          {"warnings", m.warnings}};
}

/// An object of fields, where it is there.
template <typename Fields, typename T>
void ReadPart(JsonObject& object, const char* key, const Fields& fields,
              T& values) {
  if (object.IsGiven(key)) ReadFields(object.Object(key), fields, values);
}

Measurement ReadMeasurement(JsonObject object) {
  Measurement m;
  m.model = object.Get<std::string>("model");
  object.Read("format", m.format);
  object.ReadNamed("mode", &ParseMode, m.mode);
  object.Read("optimizer", m.optimizer);
  object.ReadNamed("precision", &ParsePrecision, m.precision);
  object.Read("batch", m.batch);
  object.Read("device", m.device);
  m.inputs = measure::ReadInputs(object);
  object.Read("seed", m.seed);
  m.status = object.Named("status", &ParseMeasureStatus);
  object.Read("message", m.message);
  object.Read("measured_at", m.measured_at);
  if (object.IsGiven("latency")) {
    ReadPart(object, "latency", kLatencyFields, m.latency.emplace());
  }
  ReadPart(object, "memory", kMemoryFields, m.memory);
  ReadPart(object, "energy", kEnergyFields, m.energy);
  ReadPart(object, "state", kStateFields, m.state);
  ReadPart(object, "environment", kEnvironmentFields, m.environment);
  m.notes = ReadNotes(object);
  object.Read("warnings", m.warnings);
  return m;
}

}  // namespace

std::string MeasurementToJson(const Measurement& measurement) {
  return DumpJson(ToJson(measurement), kOneLine);
}

Measurement MeasurementFromJson(std::string_view json) {
  constexpr char kOrigin[] = "measurement";
  const nlohmann::json document = ParseJson(json, kOrigin);
  return ReadMeasurement(JsonObject(document, kOrigin, ""));
}

std::string MeasurementsToJson(std::span<const Measurement> measurements) {
  Json rows = Json::array();
  for (const Measurement& row : measurements) rows.push_back(ToJson(row));
  return DumpJson({{"schema_version", kMeasurementSchemaVersion},
                   {"measurements", std::move(rows)}});
}

std::string EnvironmentsToJson(std::span<const Measurement> measurements) {
  Json list = Json::array();
  for (const Measurement& row : measurements) {
    if (row.environment.device_name.empty()) continue;
    const Json entry = {
        {"device", row.device},
        {"environment", FieldsToJson(row.environment, kEnvironmentFields)}};
    if (std::find(list.begin(), list.end(), entry) == list.end()) {
      list.push_back(entry);
    }
  }
  return DumpJson({{"schema_version", kMeasurementSchemaVersion},
                   {"environments", std::move(list)}});
}

}  // namespace foretell
