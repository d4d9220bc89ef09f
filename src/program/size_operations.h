#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace foretell {

/// How formulas of sizes are computed. Strengths of operators are Python's.
struct SizeOperation {
  /// What Python and SymPy's srepr call it, the operator first where it has
  /// one; empty behind the last.
  std::string_view names[4];
  int strength = kCall;
  std::size_t least_operands = 1;
  std::size_t most_operands = 1;
  /// Empty where it has no value, as a division by 0.
  std::optional<double> (*compute)(std::span<const double> operands);

  static constexpr int kOr = 1;
  static constexpr int kAnd = 2;
  static constexpr int kCompare = 3;
  static constexpr int kSum = 4;
  static constexpr int kProduct = 5;
  static constexpr int kSign = 6;
  static constexpr int kPower = 7;
  static constexpr int kCall = 8;
};

/// The operation that `name` calls; null for an unknown one.
const SizeOperation* FindSizeOperation(std::string_view name);

}  // namespace foretell
