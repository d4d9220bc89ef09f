#include "src/classify/measured_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "foretell/error.h"
#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"

namespace foretell::classify {
namespace {

/// A row and the table that it is of, for messages.
struct Cells {
  const std::string& path;
  const CsvRow& row;

  [[noreturn]] void Refuse(const char* column,
                           const std::string& expected) const {
    throw InvalidArgument("{}: line {}: {} '{}': expected {}", path, row.line(),
                          column, row.At(column), expected);
  }

  std::string Text(const char* column) const {
    if (row.At(column).empty()) Refuse(column, "some text");
    return row.At(column);
  }

  std::int64_t Samples(const char* column) const {
    const auto samples = ParseNumber<std::int64_t>(row.At(column));
    if (!samples || *samples < 1) Refuse(column, "1 or more");
    return *samples;
  }

  std::optional<double> MemoryMib() const {
    constexpr char kColumn[] = "memory_mib";
    if (row.At(kColumn).empty()) return std::nullopt;  // Out of memory.
    const auto mib = ParseNumber<double>(row.At(kColumn));
    if (!mib || !std::isfinite(*mib) || *mib < 0) {
      Refuse(kColumn, "MiB, or nothing if out of memory");
    }
    return mib;
  }

  Optimizer OptimizerNamed() const {
    try {
      return ParseOptimizer(row.At("optimizer"));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: line {}: {}", path, row.line(),
                                            error.what()));
    }
  }
};

MeasuredStep ReadRow(const Cells& cells) {
  MeasuredStep one{.model = cells.Text("model"),
                   .input = cells.row.At("input"),
                   .batch = cells.Samples("batch"),
                   .optimizer = cells.OptimizerNamed()};
  one.step.name = cells.Text("name");
  one.step.set = cells.Text("set");
  one.step.memory_mib = cells.MemoryMib();
  const std::string* pass = cells.row.Find("pass_before");
  if (pass != nullptr && !pass->empty()) {
    one.pass_before = cells.Samples("pass_before");
  }
  return one;
}

}  // namespace

std::vector<MeasuredStep> ReadMeasuredSteps(const std::string& path) {
  std::vector<MeasuredStep> steps;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    steps.push_back(ReadRow({path, row}));
  });
  if (!steps.empty()) return steps;
  throw InvalidArgument("{}: has 0 rows, expected one a step", path);
}

void RequireSeveralClasses(const std::vector<LabelledStep>& steps,
                           const MemoryClasses& classes,
                           const std::string& origin) {
  const auto class_of = [&](const LabelledStep& step) {
    return classes.ClassOf(step.memory_mib);
  };
  const int first = class_of(steps.front());
  const bool all_alike = std::ranges::all_of(
      steps, [&](const LabelledStep& step) { return class_of(step) == first; });
  if (!all_alike) return;
  throw InvalidArgument(
      "{}: memory_mib of all {} is {}: there is nothing to learn", origin,
      Counted(steps.size(), "step"), classes.Name(first));
}

}  // namespace foretell::classify
