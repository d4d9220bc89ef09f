#include "cli/print/print_difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"

namespace foretell::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Columns that a module's path may take.
constexpr std::size_t kPathWidth = 30;

/// A whole number by its prefix, others by their digits.
std::string Amount(const Json& number) {
  return number.is_number_integer() ? FormatCount(number.get<std::int64_t>())
                                    : FormatSignificant(number.get<double>());
}

std::string Signed(double value, const std::string& text) {
  return (value >= 0 ? "+" : "-") + text;
}

/// "+12.0 %"; empty where there is nothing to compare with.
std::string Change(const Json& a, const Json& b) {
  const double before = a.get<double>();
  const double after = b.get<double>();
  if (before == after) return "";
  if (before == 0) return "new";
  const double share = after / before - 1;
  return Signed(share, FormatPercent(std::abs(share), 1));
}

std::string Figures(const Json& difference) {
  TextTable table({"", "A", "B", "", "change"});
  for (const Json& figure : difference["figures"]) {
    table.AddRow({figure["name"].get<std::string>(), Amount(figure["a"]),
                  Amount(figure["b"]), figure["unit"].get<std::string>(),
                  Change(figure["a"], figure["b"])});
  }
  return table.ToString();
}

/// Keeps the end of a path, which is more informative than its beginning.
std::string PathOf(const Json& module) {
  const std::string path = Printable(module["path"].get<std::string>());
  if (path.empty()) return "(no module)";
  return path.size() <= kPathWidth
             ? path
             : "…" + path.substr(path.size() - kPathWidth + 1);
}

/// "925 M → 1.85 G", "+ 64" where A lacks the module, "- 64" where B does; one
/// number where both have it.
std::string Cell(const Json& module, const char* field) {
  const Json& a = module["a"];
  const Json& b = module["b"];
  if (a.is_null()) return "+ " + Amount(b[field]);
  if (b.is_null()) return "- " + Amount(a[field]);
  const std::string before = Amount(a[field]);
  const std::string after = Amount(b[field]);
  return before == after ? before : fmt::format("{} → {}", before, after);
}

std::string Modules(const Json& difference, std::size_t most) {
  const Json& modules = difference["modules"];
  if (modules.empty()) return "\nno module changed\n";
  TextTable table({"module", "parameters", "MACs", "GPU us"});
  const std::size_t shown = std::min(most, modules.size());
  for (std::size_t i = 0; i < shown; ++i) {
    table.AddRow({PathOf(modules[i]), Cell(modules[i], "parameters"),
                  Cell(modules[i], "macs"), Cell(modules[i], "gpu_us")});
  }
  return "\n" + table.ToString() +
         RowsLeftOut(modules.size() - shown, "module");
}

}  // namespace

std::string FormatSettings(std::string_view side, const Json& answer) {
  const Json& optimizer = answer.value("optimizer", Json());
  return Printable(fmt::format("{}  {}   ({}, {}{}, {}, batch {}) on {}", side,
                               answer["model"].get<std::string>(),
                               answer["format"].get<std::string>(),
                               answer["mode"].get<std::string>(),
                               optimizer.is_string()
                                   ? " with " + optimizer.get<std::string>()
                                   : "",
                               answer["precision"].get<std::string>(),
                               answer.value("batch", std::int64_t{0}),
                               answer["device"].get<std::string>())) +
         "\n";
}

std::string RowsLeftOut(std::size_t count, std::string_view noun) {
  return count == 0
             ? ""
             : fmt::format("and {} more (--modules)\n", Counted(count, noun));
}

std::string FormatDifference(const Json& difference, std::size_t most) {
  return FormatSettings("A", difference["a"]) +
         FormatSettings("B", difference["b"]) + "\n" + Figures(difference) +
         Modules(difference, most);
}

}  // namespace foretell::cli
