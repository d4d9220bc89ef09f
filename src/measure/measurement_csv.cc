#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foretell/measure.h"
#include "src/core/csv.h"
#include "src/core/numbers.h"

namespace foretell {
namespace {

/// A column's name and its text in one row.
using Cell = std::pair<std::string, std::string>;
using Cells = std::vector<Cell>;

std::string Text(double value) { return FormatExact(value); }
std::string Text(std::int64_t value) { return fmt::format("{}", value); }
std::string Text(int value) { return fmt::format("{}", value); }
std::string Text(bool value) { return value ? "1" : "0"; }
std::string Text(const std::string& value) { return value; }
std::string Text(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    text += (text.empty() ? "" : " ") + value;
  }
  return text;
}
template <typename T>
std::string Text(const std::optional<T>& value) {
  return value ? Text(*value) : "";
}

std::string InputsText(const std::vector<BoundInput>& inputs) {
  std::string text;
  for (const BoundInput& input : inputs) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", input.name,
                        ToString(input.type));
  }
  return text;
}

void AddRequest(const Measurement& m, Cells& cells) {
  cells.insert(cells.end(),
               {{"model", m.model},
                {"format", m.format},
                {"device", m.device},
                {"mode", std::string(ModeName(m.mode))},
                {"optimizer", m.optimizer},
                {"precision", std::string(PrecisionName(m.precision))},
                {"batch", Text(m.batch)},
                {"inputs", InputsText(m.inputs)},
                {"status", std::string(MeasureStatusName(m.status))},
                {"message", m.message},
                {"measured_at", m.measured_at}});
}

void AddResults(const Measurement& m, Cells& cells) {
  const LatencyStatistics latency = m.latency.value_or(LatencyStatistics{});
  const auto timed = [&m](double value) {
    return m.latency ? Text(value) : "";
  };
  cells.insert(cells.end(),
               {{"runs", m.latency ? Text(latency.runs) : ""},
                {"latency_ms", timed(latency.median_ms)},
                {"latency_mean_ms", timed(latency.mean_ms)},
                {"latency_p5_ms", timed(latency.p5_ms)},
                {"latency_p95_ms", timed(latency.p95_ms)},
                {"peak_allocated_bytes", Text(m.memory.peak_allocated_bytes)},
                {"peak_reserved_bytes", Text(m.memory.peak_reserved_bytes)},
                {"process_bytes", Text(m.memory.process_bytes)},
                {"process_source", m.memory.process_source},
                {"context_bytes", Text(m.memory.context_bytes)},
                {"peak_rss_bytes", Text(m.memory.peak_rss_bytes)},
                {"energy_j", Text(m.energy.energy_j)},
                {"energy_relative_spread", Text(m.energy.relative_spread)},
                {"power_w", Text(m.energy.power_w)},
                {"idle_power_w", Text(m.energy.idle_power_w)},
                {"energy_source", m.energy.source}});
}

void AddSurroundings(const Measurement& m, Cells& cells) {
  const MeasureEnvironment& e = m.environment;
  cells.insert(cells.end(),
               {{"sm_clock_mhz", Text(m.state.sm_clock_mhz)},
                {"memory_clock_mhz", Text(m.state.memory_clock_mhz)},
                {"temperature_c", Text(m.state.temperature_c)},
                {"power_limit_w", Text(m.state.power_limit_w)},
                {"throttle_reasons", Text(m.state.throttle_reasons)},
                {"device_name", e.device_name},
                {"is_mig", Text(e.is_mig)},
                {"driver", Text(e.driver)},
                {"cuda", Text(e.cuda)},
                {"cuda_driver", Text(e.cuda_driver)},
                {"cudnn", Text(e.cudnn)},
                {"libtorch", e.libtorch},
                {"max_sm_clock_mhz", Text(e.max_sm_clock_mhz)},
                {"threads", Text(e.threads)},
                {"tf32_matmul", Text(e.tf32_matmul)},
                {"tf32_cudnn", Text(e.tf32_cudnn)},
                {"cudnn_benchmark", Text(e.cudnn_benchmark)},
                {"cudnn_deterministic", Text(e.cudnn_deterministic)},
                {"autocast", Text(e.autocast)},
                {"grad_mode", Text(e.grad_mode)},
                {"memory_format", e.memory_format}});
}

Cells CellsOf(const Measurement& measurement) {
  Cells cells;
  AddRequest(measurement, cells);
  AddResults(measurement, cells);
  AddSurroundings(measurement, cells);
  return cells;
}

std::string LineOf(const Cells& cells, std::string Cell::*part) {
  std::vector<std::string> texts;
  for (const Cell& cell : cells) texts.push_back(cell.*part);
  return CsvLine(texts);
}

}  // namespace

std::string MeasurementsToCsv(std::span<const Measurement> measurements) {
  std::string text = LineOf(CellsOf(Measurement{}), &Cell::first);
  for (const Measurement& measurement : measurements) {
    text += LineOf(CellsOf(measurement), &Cell::second);
  }
  return text;
}

}  // namespace foretell
