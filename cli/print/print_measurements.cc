#include "cli/print/print_measurements.h"

#include <fmt/core.h>

#include <optional>
#include <vector>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

constexpr char kNothing[] = "-";

std::string Mib(const std::optional<std::int64_t>& bytes) {
  return bytes ? FormatSignificant(ToMiB(*bytes)) : kNothing;
}

std::string Number(const std::optional<double>& value) {
  return value ? FormatSignificant(*value) : kNothing;
}

std::vector<std::string> Cells(const Measurement& row) {
  std::string median = kNothing;
  std::string spread = kNothing;
  if (row.latency) {
    median = FormatSignificant(row.latency->median_ms);
    spread = fmt::format("{} – {}", FormatSignificant(row.latency->p5_ms),
                         FormatSignificant(row.latency->p95_ms));
  }
  return {row.model,
          row.device,
          std::string(ModeName(row.mode)),
          fmt::format("{}{}", PrecisionName(row.precision),
                      row.environment.autocast ? " autocast" : ""),
          row.batch ? fmt::format("{}", *row.batch) : kNothing,
          std::string(MeasureStatusName(row.status)),
          median,
          spread,
          Mib(row.memory.peak_allocated_bytes),
          Mib(row.memory.peak_reserved_bytes),
          Mib(row.memory.process_bytes),
          Number(row.energy.energy_j)};
}

/// ONNX Runtime names itself in its version.
std::string Software(const MeasureEnvironment& environment) {
  return environment.libtorch.starts_with("onnxruntime")
             ? environment.libtorch
             : fmt::format("LibTorch {}", environment.libtorch);
}

std::string Line(const Measurement& row) {
  const MeasureEnvironment& environment = row.environment;
  std::string text =
      fmt::format("\n{}: {}, {}", row.device,
                  Printable(environment.device_name), Software(environment));
  if (environment.cuda) text += fmt::format(", CUDA {}", *environment.cuda);
  if (environment.cudnn) text += fmt::format(", cuDNN {}", *environment.cudnn);
  if (environment.driver) {
    text += fmt::format(", driver {}", *environment.driver);
  }
  if (environment.memory_format == "channels_last") text += ", channels-last";
  if (environment.threads == 0) return text;  // As many as the runtime likes.
  return fmt::format("{}, {} threads", text, environment.threads);
}

/// A line per device, from the first row that came so far.
std::string Devices(std::span<const Measurement> rows) {
  std::string text;
  for (const Measurement& row : rows) {
    if (row.environment.device_name.empty()) continue;
    const std::string line = Line(row);
    if (text.find(line) == std::string::npos) text += line;
  }
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::string FormatMeasurements(std::span<const Measurement> rows) {
  TextTable table({"model", "device", "mode", "precision", "batch", "status",
                   "median ms", "p5 – p95", "allocated MiB", "reserved MiB",
                   "process MiB", "energy J"});
  for (const Measurement& row : rows) table.AddRow(Cells(row));
  return table.ToString() + Devices(rows);
}

}  // namespace foretell::cli
