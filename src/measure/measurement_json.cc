#include <algorithm>
#include <string>

#include "foretell/error.h"
#include "foretell/measure.h"
#include "src/measure/json_values.h"

namespace foretell {
namespace {

using measure::Json;
using measure::OrNull;
using measure::Read;
using measure::ReadName;
using measure::TextOrNull;

constexpr int kIndent = 2;

Json LatencyJson(const LatencyStatistics& latency) {
  return {{"runs", latency.runs},
          {"median_ms", latency.median_ms},
          {"mean_ms", latency.mean_ms},
          {"p5_ms", latency.p5_ms},
          {"p95_ms", latency.p95_ms}};
}

LatencyStatistics LatencyFrom(const Json& json) {
  LatencyStatistics latency;
  Read(json, "runs", latency.runs);
  Read(json, "median_ms", latency.median_ms);
  Read(json, "mean_ms", latency.mean_ms);
  Read(json, "p5_ms", latency.p5_ms);
  Read(json, "p95_ms", latency.p95_ms);
  return latency;
}

Json MemoryJson(const MeasuredMemory& memory) {
  return {{"peak_allocated_bytes", OrNull(memory.peak_allocated_bytes)},
          {"peak_reserved_bytes", OrNull(memory.peak_reserved_bytes)},
          {"process_bytes", OrNull(memory.process_bytes)},
          {"process_source", TextOrNull(memory.process_source)},
          {"context_bytes", OrNull(memory.context_bytes)},
          {"peak_rss_bytes", memory.peak_rss_bytes}};
}

MeasuredMemory MemoryFrom(const Json& json) {
  MeasuredMemory memory;
  Read(json, "peak_allocated_bytes", memory.peak_allocated_bytes);
  Read(json, "peak_reserved_bytes", memory.peak_reserved_bytes);
  Read(json, "process_bytes", memory.process_bytes);
  Read(json, "process_source", memory.process_source);
  Read(json, "context_bytes", memory.context_bytes);
  Read(json, "peak_rss_bytes", memory.peak_rss_bytes);
  return memory;
}

Json EnergyJson(const MeasuredEnergy& energy) {
  return {{"energy_j", OrNull(energy.energy_j)},
          {"relative_spread", OrNull(energy.relative_spread)},
          {"power_w", OrNull(energy.power_w)},
          {"idle_power_w", OrNull(energy.idle_power_w)},
          {"window_s", OrNull(energy.window_s)},
          {"counter_steps", OrNull(energy.counter_steps)},
          {"runs", OrNull(energy.runs)},
          {"source", TextOrNull(energy.source)}};
}

MeasuredEnergy EnergyFrom(const Json& json) {
  MeasuredEnergy energy;
  Read(json, "energy_j", energy.energy_j);
  Read(json, "relative_spread", energy.relative_spread);
  Read(json, "power_w", energy.power_w);
  Read(json, "idle_power_w", energy.idle_power_w);
  Read(json, "window_s", energy.window_s);
  Read(json, "counter_steps", energy.counter_steps);
  Read(json, "runs", energy.runs);
  Read(json, "source", energy.source);
  return energy;
}

Json StateJson(const DeviceState& state) {
  return {{"sm_clock_mhz", OrNull(state.sm_clock_mhz)},
          {"memory_clock_mhz", OrNull(state.memory_clock_mhz)},
          {"temperature_c", OrNull(state.temperature_c)},
          {"power_limit_w", OrNull(state.power_limit_w)},
          {"throttle_reasons", OrNull(state.throttle_reasons)}};
}

DeviceState StateFrom(const Json& json) {
  DeviceState state;
  Read(json, "sm_clock_mhz", state.sm_clock_mhz);
  Read(json, "memory_clock_mhz", state.memory_clock_mhz);
  Read(json, "temperature_c", state.temperature_c);
  Read(json, "power_limit_w", state.power_limit_w);
  Read(json, "throttle_reasons", state.throttle_reasons);
  return state;
}

Json EnvironmentJson(const MeasureEnvironment& environment) {
  return {{"device_name", TextOrNull(environment.device_name)},
          {"libtorch", TextOrNull(environment.libtorch)},
          {"driver", OrNull(environment.driver)},
          {"cuda", OrNull(environment.cuda)},
          {"cuda_driver", OrNull(environment.cuda_driver)},
          {"cudnn", OrNull(environment.cudnn)},
          {"max_sm_clock_mhz", OrNull(environment.max_sm_clock_mhz)},
          {"is_mig", OrNull(environment.is_mig)},
          {"threads", environment.threads},
          {"tf32_matmul", environment.tf32_matmul},
          {"tf32_cudnn", environment.tf32_cudnn},
          {"cudnn_benchmark", environment.cudnn_benchmark},
          {"cudnn_deterministic", environment.cudnn_deterministic}};
}

MeasureEnvironment EnvironmentFrom(const Json& json) {
  MeasureEnvironment environment;
  Read(json, "device_name", environment.device_name);
  Read(json, "libtorch", environment.libtorch);
  Read(json, "driver", environment.driver);
  Read(json, "cuda", environment.cuda);
  Read(json, "cuda_driver", environment.cuda_driver);
  Read(json, "cudnn", environment.cudnn);
  Read(json, "max_sm_clock_mhz", environment.max_sm_clock_mhz);
  Read(json, "is_mig", environment.is_mig);
  Read(json, "threads", environment.threads);
  Read(json, "tf32_matmul", environment.tf32_matmul);
  Read(json, "tf32_cudnn", environment.tf32_cudnn);
  Read(json, "cudnn_benchmark", environment.cudnn_benchmark);
  Read(json, "cudnn_deterministic", environment.cudnn_deterministic);
  return environment;
}

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
          {"format", TextOrNull(m.format)},
          {"mode", ModeName(m.mode)},
          {"optimizer", TextOrNull(m.optimizer)},
          {"precision", PrecisionName(m.precision)},
          {"batch", OrNull(m.batch)},
          {"device", m.device},
          {"inputs", measure::InputsToJson(m.inputs)},
          {"seed", m.seed},
          {"status", MeasureStatusName(m.status)},
          {"message", TextOrNull(m.message)},
          {"measured_at", m.measured_at},
          {"latency", m.latency ? LatencyJson(*m.latency) : Json(nullptr)},
          {"memory", MemoryJson(m.memory)},
          {"energy", EnergyJson(m.energy)},
          {"state", StateJson(m.state)},
          {"environment", EnvironmentJson(m.environment)},
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
    m.latency = LatencyFrom(Part(json, "latency"));
  }
  m.memory = MemoryFrom(Part(json, "memory"));
  m.energy = EnergyFrom(Part(json, "energy"));
  m.state = StateFrom(Part(json, "state"));
  m.environment = EnvironmentFrom(Part(json, "environment"));
  m.notes = NotesFrom(Part(json, "notes"));
  Read(json, "warnings", m.warnings);
  return m;
}

std::string Document(const Json& json) {
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string MeasurementToJson(const Measurement& measurement) {
  return measure::OneLineJson(ToJson(measurement));
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
  return Document({{"schema_version", kMeasurementSchemaVersion},
                   {"measurements", std::move(rows)}});
}

std::string EnvironmentsToJson(std::span<const Measurement> measurements) {
  Json list = Json::array();
  for (const Measurement& row : measurements) {
    if (row.environment.device_name.empty()) continue;
    const Json entry = {{"device", row.device},
                        {"environment", EnvironmentJson(row.environment)}};
    if (std::find(list.begin(), list.end(), entry) == list.end()) {
      list.push_back(entry);
    }
  }
  return Document({{"schema_version", kMeasurementSchemaVersion},
                   {"environments", std::move(list)}});
}

}  // namespace foretell
