#include <algorithm>
#include <string>

#include "foretell/error.h"
#include "foretell/measure.h"
#include "src/core/json_text.h"
#include "src/measure/json_values.h"

namespace foretell {
namespace {

using measure::FieldJson;
using measure::FieldsFromJson;
using measure::FieldsToJson;
using measure::Json;
using measure::Read;
using measure::ReadName;

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

std::vector<MeasureNote> NotesFrom(const Json& list) {
  std::vector<MeasureNote> notes;
  for (const Json& entry : list) {
    MeasureNote note;
    Read(entry, "what", note.what);
    Read(entry, "reason", note.reason);
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

const Json& Part(const Json& json, const char* key) {
  static const Json* const empty = new Json(Json::object());
  const auto found = json.find(key);
  return found != json.end() && !found->is_null() ? *found : *empty;
}

Measurement FromJson(const Json& json) {
  Measurement m;
  m.model = json.at("model").get<std::string>();
  Read(json, "format", m.format);
  ReadName(json, "mode", &ParseMode, m.mode);
  Read(json, "optimizer", m.optimizer);
  ReadName(json, "precision", &ParsePrecision, m.precision);
  Read(json, "batch", m.batch);
  Read(json, "device", m.device);
  m.inputs = measure::InputsFromJson(Part(json, "inputs"));
  Read(json, "seed", m.seed);
  json.at("status");
  ReadName(json, "status", &ParseMeasureStatus, m.status);
  Read(json, "message", m.message);
  Read(json, "measured_at", m.measured_at);
  if (Part(json, "latency").size() > 0) {
    m.latency = FieldsFromJson<LatencyStatistics>(Part(json, "latency"),
                                                  kLatencyFields);
  }
  m.memory =
      FieldsFromJson<MeasuredMemory>(Part(json, "memory"), kMemoryFields);
  m.energy =
      FieldsFromJson<MeasuredEnergy>(Part(json, "energy"), kEnergyFields);
  m.state = FieldsFromJson<DeviceState>(Part(json, "state"), kStateFields);
  m.environment = FieldsFromJson<MeasureEnvironment>(Part(json, "environment"),
                                                     kEnvironmentFields);
  m.notes = NotesFrom(Part(json, "notes"));
  Read(json, "warnings", m.warnings);
  return m;
}

}  // namespace

std::string MeasurementToJson(const Measurement& measurement) {
  return DumpJson(ToJson(measurement), kOneLine);
}

Measurement MeasurementFromJson(std::string_view json) {
  constexpr char kWhat[] = "measurement";
  try {
    return FromJson(measure::ParseObject(json, kWhat));
  } catch (const nlohmann::json::exception& error) {
    measure::RefuseJson(kWhat, error.what());
  }
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
