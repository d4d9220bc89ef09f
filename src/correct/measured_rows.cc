#include "src/correct/measured_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "foretell/error.h"
#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"
#include "src/core/units.h"
#include "src/correct/fit_correction.h"
#include "src/correct/measured_cells.h"

namespace foretell {
namespace {

[[noreturn]] void RefuseCell(ErrorCode code, std::string_view column,
                             std::string_view text,
                             const std::string& expected) {
  throw Error(code,
              fmt::format("{} is '{}', expected {}", column, text, expected));
}

std::string_view CellOf(const MeasuredCells& cells, std::string_view column) {
  const auto found = cells.find(column);
  return found == cells.end() ? std::string_view() : found->second;
}

template <typename T>
T NumberOf(std::string_view column, std::string_view text) {
  const std::optional<T> value = ParseNumber<T>(text);
  if (!value || !std::isfinite(static_cast<double>(*value)) || *value <= 0) {
    RefuseCell(ErrorCode::kCorrupt, column, text, "a number above 0");
  }
  return *value;
}

std::optional<double> FigureOf(const MeasuredCells& cells,
                               std::string_view column) {
  const std::string_view text = CellOf(cells, column);
  if (text.empty()) return std::nullopt;
  return NumberOf<double>(column, text);
}

/// What nvidia-smi shows of the process.
std::optional<double> MemoryOf(const MeasuredCells& cells) {
  const std::optional<double> mib = FigureOf(cells, "memory_mib");
  if (mib) return mib;
  const std::optional<double> bytes = FigureOf(cells, "process_bytes");
  if (!bytes) return std::nullopt;
  return *bytes / static_cast<double>(kMiB);
}

std::string_view BoolText(bool value) { return value ? "true" : "false"; }

/// A table's words in a Run's terms.
std::string_view Plain(std::string_view text) {
  if (text == "1" || text == "True") return "true";
  if (text == "0" || text == "False") return "false";
  if (text == "nhwc") return "channels_last";
  if (text == "nchw") return "contiguous";
  return text;
}

/// A column that must agree with the run, unless its cell is empty.
struct RunColumn {
  std::string_view column;
  std::string_view (*of)(const Run&);
};

constexpr RunColumn kRunColumns[] = {
    {"mode", [](const Run& run) { return ModeName(run.mode); }},
    {"precision", [](const Run& run) { return PrecisionName(run.precision); }},
    {"optimizer",
     [](const Run& run) {
       return run.mode == Mode::kTraining ? OptimizerName(run.optimizer) : "";
     }},
    {"autocast", [](const Run& run) { return BoolText(run.autocast); }},
    {"grad_mode", [](const Run& run) { return BoolText(run.grad_mode); }},
    {"memory_format",
     [](const Run& run) -> std::string_view {
       return run.channels_last ? "channels_last" : "contiguous";
     }},
};

void CheckRunColumns(const MeasuredCells& cells, const Run& run) {
  for (const RunColumn& one : kRunColumns) {
    const std::string_view text = CellOf(cells, one.column);
    const std::string_view asked = one.of(run);
    if (text.empty() || Plain(text) == asked) continue;
    RefuseCell(ErrorCode::kInvalidArgument, one.column, text,
               fmt::format("'{}' as asked for", asked));
  }
}

/// Splits "x=f32[8,3] y=i64[8]".
std::vector<std::string> InputsOf(std::string_view text) {
  std::vector<std::string> inputs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) inputs.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return inputs;
}

class Table {
 public:
  Table(std::string path, const MeasuredSubject& subject)
      : path_(std::move(path)), subject_(subject) {}

  void Add(const std::string& place, const MeasuredCells& cells) {
    try {
      Take(place, cells);
    } catch (const Error& error) {
      throw WithContext(place, error);
    }
  }

  MeasuredTable Finish() {
    RefuseFewRows();
    RefuseConstantLatency();
    for (const std::string& name : other_names_) {
      table_.warnings.push_back(fmt::format(
          "{}: rows of '{}', which is no device of the catalogue, are taken "
          "for those of {}",
          path_, name, subject_.device.name));
    }
    if (is_from_cpp_ && subject_.run.host == Host::kPython) {
      table_.warnings.push_back(fmt::format(
          "{}: `foretell measure` calls LibTorch from C++; --host cpp takes "
          "that into account, and the host factor is then that of the machine",
          path_));
    }
    return std::move(table_);
  }

 private:
  void Take(const std::string& place, const MeasuredCells& cells) {
    const std::string_view status = CellOf(cells, "status");
    if (!status.empty() && status != "ok") {
      ++table_.failed;
      return;
    }
    for (const char* needed : {"model", "batch", "latency_ms"}) {
      if (!CellOf(cells, needed).empty()) continue;
      RefuseCell(ErrorCode::kInvalidArgument, needed, "", "a value");
    }
    CheckRunColumns(cells, subject_.run);
    CheckDevice(cells);
    MeasuredRow row{
        .place = place,
        .model = std::string(CellOf(cells, "model")),
        .batch = NumberOf<std::int64_t>("batch", CellOf(cells, "batch")),
        .inputs = InputsOf(CellOf(cells, "inputs"))};
    row.measured = {MemoryOf(cells), FigureOf(cells, "latency_ms"),
                    FigureOf(cells, "energy_j")};
    points_.emplace(row.model, row.batch, row.inputs);
    table_.rows.push_back(std::move(row));
    is_from_cpp_ |= !CellOf(cells, "libtorch").empty();
  }

  void CheckDevice(const MeasuredCells& cells) {
    if (CellOf(cells, "is_mig") == "1" || CellOf(cells, "is_mig") == "true") {
      RefuseCell(ErrorCode::kInvalidArgument, "is_mig", CellOf(cells, "is_mig"),
                 "rows of a whole device");
    }
    const bool has_name = !CellOf(cells, "device_name").empty();
    const char* const column = has_name ? "device_name" : "device";
    const std::string_view name = CellOf(cells, column);
    const DeviceSpec* const found = subject_.catalog.DeviceNamed(name);
    if (found == nullptr) {
      if (has_name) other_names_.emplace(name);
    } else if (found->name != subject_.device.name) {
      RefuseCell(ErrorCode::kInvalidArgument, column, name,
                 fmt::format("'{}' as asked for", subject_.device.name));
    }
  }

  void RefuseFewRows() const {
    if (points_.size() >= kFewestRows) return;
    throw InvalidArgument(
        "{}: {} different rows{}, expected at least {}", path_, points_.size(),
        table_.rows.empty()
            ? ""
            : fmt::format(" from {} on",
                          table_.rows.front().place.substr(path_.size() + 2)),
        kFewestRows);
  }

  void RefuseConstantLatency() const {
    const auto latency = [](const MeasuredRow& row) {
      return row.measured[static_cast<std::size_t>(Target::kLatency)];
    };
    const MeasuredRow& first = table_.rows.front();
    if (std::ranges::any_of(table_.rows, [&](const MeasuredRow& row) {
          return latency(row) != latency(first);
        })) {
      return;
    }
    throw InvalidArgument(
        "{}: latency_ms is {} there and in all {}, expected measurements of "
        "different networks or batches",
        first.place, FormatExact(*latency(first)),
        Counted(table_.rows.size(), "row"));
  }

  std::string path_;
  const MeasuredSubject& subject_;
  MeasuredTable table_;
  std::set<std::tuple<std::string, std::int64_t, std::vector<std::string>>>
      points_;
  std::set<std::string> other_names_;
  bool is_from_cpp_ = false;
};

bool IsJson(const std::string& path) {
  constexpr std::size_t kEnough = 64;
  const std::string start = FirstBytes(path, kEnough);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string::npos && start[first] == '{';
}

void AddCsv(const std::string& path, Table& table) {
  ForEachCsvRow(path, [&](const CsvRow& row) {
    for (const char* needed : {"model", "batch", "latency_ms"}) row.At(needed);
    MeasuredCells cells;
    for (const std::string& column : row.columns()) {
      cells[column] = row.At(column);
    }
    table.Add(fmt::format("{}: line {}", path, row.line()), cells);
  });
}

}  // namespace

MeasuredTable ReadMeasuredRows(const std::string& path,
                               const MeasuredSubject& subject) {
  Table table(path, subject);
  if (!IsJson(path)) {
    AddCsv(path, table);
    return table.Finish();
  }
  int index = 0;
  for (const MeasuredCells& cells : CellsOfMeasurements(ReadText(path), path)) {
    table.Add(fmt::format("{}: measurements[{}]", path, index++), cells);
  }
  return table.Finish();
}

}  // namespace foretell
