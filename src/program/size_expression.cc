#include "src/program/size_expression.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "src/program/size_operations.h"

namespace foretell {
namespace {

/// Whole numbers up to here are exact.
constexpr double kMostSize = 9007199254740992.0;

bool IsWholeSize(double number) {
  return std::abs(number) <= kMostSize && std::floor(number) == number;
}

std::optional<std::int64_t> WholeSize(double number) {
  if (!IsWholeSize(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

bool AddsSizes(const SizeOperation& operation) {
  return operation.names[0] == "+" || operation.names[0] == "-";
}

/// Operations that give back what they are given, of whole numbers.
bool KeepsWholeSizes(const SizeOperation& operation) {
  constexpr std::string_view kRounding[] = {"floor", "ceiling", "TruncToInt",
                                            "RoundToInt", "ToFloat"};
  return std::ranges::count(kRounding, operation.names[0]) != 0;
}

bool DividesSizes(const SizeOperation& operation) {
  constexpr std::string_view kDividing[] = {"/", "//", "CeilDiv"};
  return std::ranges::count(kDividing, operation.names[0]) != 0;
}

}  // namespace

std::set<std::string> SizeExpression::Symbols() const {
  if (IsSymbol()) return {symbol_};
  std::set<std::string> symbols;
  for (const SizeExpression& operand : operands_) {
    symbols.merge(operand.Symbols());
  }
  return symbols;
}

std::size_t SizeExpression::NumTerms() const {
  std::size_t terms = 1;
  for (const SizeExpression& operand : operands_) terms += operand.NumTerms();
  return terms;
}

std::optional<double> SizeExpression::Compute(const Values& values) const {
  if (IsSymbol()) {
    const auto value = values.find(symbol_);
    if (value == values.end()) return std::nullopt;
    return static_cast<double>(value->second);
  }
  if (operation_ == nullptr) return number_;
  std::vector<double> numbers;
  for (const SizeExpression& operand : operands_) {
    const std::optional<double> number = operand.Compute(values);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const std::optional<double> result = operation_->compute(numbers);
  if (!result || std::abs(*result) > kMostSize) return std::nullopt;
  return result;
}

std::optional<std::int64_t> SizeExpression::Evaluate(
    const Values& values) const {
  const std::optional<double> number = Compute(values);
  return number ? WholeSize(*number) : std::nullopt;
}

std::optional<SizeExpression::Line> SizeExpression::LineIn(
    const std::string& symbol, const Values& values) const {
  if (symbol_ == symbol && IsSymbol()) return Line{.factor = 1};
  if (operation_ == nullptr || !Symbols().contains(symbol)) {
    const std::optional<double> number = Compute(values);
    return number ? std::optional<Line>({.offset = *number}) : std::nullopt;
  }
  std::vector<Line> lines;
  for (const SizeExpression& operand : operands_) {
    const std::optional<Line> line = operand.LineIn(symbol, values);
    if (!line) return std::nullopt;
    lines.push_back(*line);
  }
  Line result = lines.front();
  const bool keeps = IsWholeSize(result.factor) && IsWholeSize(result.offset);
  if (KeepsWholeSizes(*operation_) && keeps) return result;
  if (operation_->names[0] == "neg") {
    return Line{-result.factor, -result.offset};
  }
  for (const Line& line : std::span(lines).subspan(1)) {
    if (AddsSizes(*operation_)) {
      const double sign = operation_->names[0] == "-" ? -1 : 1;
      result.factor += sign * line.factor;
      result.offset += sign * line.offset;
    } else if (operation_->names[0] == "*" &&
               (line.factor == 0 || result.factor == 0)) {
      result = Line{result.factor * line.offset + line.factor * result.offset,
                    result.offset * line.offset};
    } else if (DividesSizes(*operation_) && line.factor == 0 &&
               line.offset != 0 && IsWholeSize(result.factor / line.offset)) {
      const std::vector<double> parts = {result.offset, line.offset};
      result = Line{result.factor / line.offset, *operation_->compute(parts)};
    } else {
      return std::nullopt;
    }
  }
  const bool is_line = operands_.size() > 1 || AddsSizes(*operation_) ||
                       operation_->names[0] == "*";
  return is_line ? std::optional(result) : std::nullopt;
}

std::optional<std::int64_t> SizeExpression::Solve(const std::string& symbol,
                                                  std::int64_t target,
                                                  const Values& values) const {
  const std::optional<Line> line = LineIn(symbol, values);
  if (!line || line->factor == 0) return std::nullopt;
  return WholeSize((static_cast<double>(target) - line->offset) / line->factor);
}

SizeExpression SizeExpression::Substitute(
    const std::string& symbol, const SizeExpression& replacement) const {
  if (IsSymbol()) return symbol_ == symbol ? replacement : *this;
  SizeExpression copy = *this;
  for (SizeExpression& operand : copy.operands_) {
    operand = operand.Substitute(symbol, replacement);
  }
  return copy;
}

std::string SizeExpression::ToString() const { return Print(0); }

std::string SizeExpression::Print(int outer_strength) const {
  if (IsSymbol()) return symbol_;
  if (operation_ == nullptr) {
    const std::optional<std::int64_t> whole = WholeSize(number_);
    const std::string text =
        whole ? fmt::format("{}", *whole) : fmt::format("{}", number_);
    const bool needs_marks =
        number_ < 0 && outer_strength > SizeOperation::kSum + 1;
    return needs_marks ? "(" + text + ")" : text;
  }
  const bool is_call = operation_->strength == SizeOperation::kCall;
  std::vector<SizeExpression> operands = operands_;
  if (operation_->names[0] == "+") {
    std::ranges::stable_partition(
        operands, [](const SizeExpression& one) { return !one.IsFixed(); });
  }
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    // Operands to the right bind more tightly: a-(b-c), a//(b*c).
    const int strength = operation_->strength + (i == 0 ? 0 : 1);
    const std::string operand = operands[i].Print(is_call ? 0 : strength);
    const bool signs_itself =
        operation_->names[0] == "+" && operand.starts_with('-');
    if (is_call && i != 0) text += ", ";
    if (!is_call && i != 0 && !signs_itself) text += operation_->names[0];
    text += operand;
  }
  if (is_call) return fmt::format("{}({})", operation_->names[0], text);
  if (operation_->names[0] == "neg") text = "-" + text;
  const bool needs_marks = operation_->strength < outer_strength;
  return needs_marks ? "(" + text + ")" : text;
}

void SolveSizes(const std::vector<SizeEquation>& equations,
                SizeExpression::Values& values) {
  for (bool found = true; found;) {
    found = false;
    for (const SizeEquation& equation : equations) {
      std::vector<std::string> unknown;
      for (const std::string& symbol : equation.size.Symbols()) {
        if (!values.contains(symbol)) unknown.push_back(symbol);
      }
      if (unknown.size() != 1) continue;
      const std::optional<std::int64_t> solution =
          equation.size.Solve(unknown.front(), equation.value, values);
      if (!solution) continue;
      values.emplace(unknown.front(), *solution);
      found = true;
    }
  }
}

}  // namespace foretell
