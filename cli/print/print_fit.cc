#include "cli/print/print_fit.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/surrogate/formula_names.h"
#include "src/surrogate/model_json.h"

namespace foretell::cli {
namespace {

using surrogate::Comparison;
using surrogate::FittedModel;

constexpr int kErrorDecimals = 2;
constexpr double kHardlyBetter = 0.9;

std::string ErrorText(double error) {
  if (std::isinf(error)) return "?";
  return FormatPercent(error, kErrorDecimals);
}

std::string MethodTable(const Comparison& comparison) {
  TextTable table({"method", "error", "largest error"});
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    table.AddRow({std::string(MethodName(comparison.models[i].method)),
                  ErrorText(comparison.errors[i].mean),
                  ErrorText(comparison.errors[i].largest)});
  }
  return table.ToString();
}

/// Ranges by column, and its name in formulas where that is another one.
std::string RangeText(const FittedModel& fitted) {
  const std::vector<std::string> names =
      surrogate::FormulaNames(fitted.columns);
  std::string text;
  for (std::size_t i = 0; i < fitted.columns.size(); ++i) {
    const std::string& column = fitted.columns[i];
    text += fmt::format(
        "{}{}{} from {} to {}", text.empty() ? "" : ", ", names[i],
        names[i] == column ? "" : fmt::format(" ('{}')", column),
        FormatExact(fitted.lowest[i]), FormatExact(fitted.highest[i]));
  }
  return text;
}

/// Where the chosen one is as near as wanted: small sizes are stairs.
std::string CloseText(const surrogate::HeldOutError& error,
                      const std::string& unit) {
  const std::string wanted = FormatPercent(surrogate::kWantedError, 0);
  if (error.close == error.rows) {
    return fmt::format("within {} at all of them", wanted);
  }
  const std::string text =
      fmt::format("within {} at {} of them", wanted, error.close);
  if (!error.close_from) return text;
  return fmt::format("{}, at all from {}{}{} on", text,
                     FormatSignificant(*error.close_from),
                     unit.empty() ? "" : " ", unit);
}

std::string ChosenText(const Comparison& comparison, const std::string& unit) {
  const FittedModel& chosen = comparison.models[comparison.chosen];
  const std::string formula = chosen.model->Formula(chosen.columns);
  std::string text;
  if (formula.empty()) {
    text = fmt::format("{} has no formula; --out stores it\n",
                       MethodName(chosen.method));
  } else {
    text = fmt::format("{}{} = {}\n", chosen.target,
                       unit.empty() ? "" : "_" + unit, formula);
  }
  return text +
         fmt::format("{}; {}\n", MethodName(chosen.method), RangeText(chosen));
}

/// Formulas come after the columns, since they may have any length. Those that
/// are hardly better than a smaller one are left out; --json has them.
std::string FrontTable(const FittedModel& fitted,
                       const surrogate::Table& held_out) {
  TextTable table({"size", "error of fit", "expected", "held out"});
  std::vector<std::string> formulas = {"formula"};
  double last = std::numeric_limits<double>::infinity();
  for (const surrogate::SizedFormula& one : fitted.front) {
    if (one.error > kHardlyBetter * last) continue;
    last = one.error;
    table.AddRow({fmt::format("{}", one.size), ErrorText(one.error),
                  ErrorText(one.expected_error),
                  ErrorText(JudgeModel(one.formula, held_out).mean)});
    formulas.push_back(one.formula.Formula(fitted.columns));
  }
  std::istringstream lines(table.ToString());
  std::string text;
  std::string line;
  for (const std::string& formula : formulas) {
    std::getline(lines, line);
    text += fmt::format("{}  {}\n", line, formula);
  }
  return text;
}

}  // namespace

std::string FormatComparison(const Comparison& comparison,
                             const surrogate::ComparedRows& rows,
                             const std::string& unit) {
  std::string text = ChosenText(comparison, unit) + "\n";
  text += MethodTable(comparison);
  text += fmt::format(
      "fitted to {}, tested on {} held out\n"
      "",
      Counted(rows.fitted.rows(), "row"), rows.held_out.rows());
  text += CloseText(comparison.errors[comparison.chosen], unit) + "\n";
  for (const FittedModel& fitted : comparison.models) {
    if (fitted.front.empty()) continue;
    text += fmt::format("\n{}", FrontTable(fitted, rows.held_out));
  }
  return PrintableLines(text);
}

std::string FormatJudgement(surrogate::Method method,
                            const surrogate::HeldOutError& error) {
  return fmt::format("{}: {} off on {}, at most {}\n", MethodName(method),
                     ErrorText(error.mean), Counted(error.rows, "row"),
                     ErrorText(error.largest));
}

nlohmann::ordered_json JudgementToJson(surrogate::Method method,
                                       const surrogate::HeldOutError& error) {
  return {{"schema_version", surrogate::kModelSchemaVersion},
          {"method", MethodName(method)},
          {"rows", error.rows},
          {"error", error.mean},
          {"largest_error", error.largest}};
}

}  // namespace foretell::cli
