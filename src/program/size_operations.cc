// What torch/utils/_sympy/functions.py and SymPy's printers write in sizes.

#include "src/program/size_operations.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace foretell {
namespace {

using Numbers = std::span<const double>;
using Result = std::optional<double>;

constexpr std::size_t kAny = 1000;

Result Add(Numbers n) {
  double sum = 0;
  for (const double one : n) sum += one;
  return sum;
}
Result Subtract(Numbers n) { return n[0] - n[1]; }
Result Multiply(Numbers n) {
  double product = 1;
  for (const double one : n) product *= one;
  return product;
}
Result Divide(Numbers n) { return n[1] == 0 ? Result() : n[0] / n[1]; }
Result FloorDivide(Numbers n) {
  return n[1] == 0 ? Result() : std::floor(n[0] / n[1]);
}
Result CeilDivide(Numbers n) {
  return n[1] == 0 ? Result() : std::ceil(n[0] / n[1]);
}
Result Modulo(Numbers n) {
  if (n[1] == 0) return std::nullopt;
  return n[0] - n[1] * std::floor(n[0] / n[1]);
}
Result ModularIndex(Numbers n) {
  if (n[1] == 0) return std::nullopt;
  const double parts[] = {std::floor(n[0] / n[1]), n[2]};
  return Modulo(parts);
}
Result Power(Numbers n) { return std::pow(n[0], n[1]); }
Result Negate(Numbers n) { return -n[0]; }
Result Same(Numbers n) { return n[0]; }
Result Floor(Numbers n) { return std::floor(n[0]); }
Result Ceil(Numbers n) { return std::ceil(n[0]); }
Result Truncate(Numbers n) { return std::trunc(n[0]); }
/// Halves to even, as Python's round.
Result Round(Numbers n) { return std::nearbyint(n[0]); }
Result Root(Numbers n) { return n[0] < 0 ? Result() : std::sqrt(n[0]); }
Result Absolute(Numbers n) { return std::abs(n[0]); }
Result Largest(Numbers n) { return std::ranges::max(n); }
Result Least(Numbers n) { return std::ranges::min(n); }
Result Equal(Numbers n) { return n[0] == n[1]; }
Result Unequal(Numbers n) { return n[0] != n[1]; }
Result Less(Numbers n) { return n[0] < n[1]; }
Result LessOrEqual(Numbers n) { return n[0] <= n[1]; }
Result Greater(Numbers n) { return n[0] > n[1]; }
Result GreaterOrEqual(Numbers n) { return n[0] >= n[1]; }
Result Not(Numbers n) { return n[0] == 0; }
Result And(Numbers n) { return std::ranges::count(n, 0.0) == 0; }
Result Or(Numbers n) {
  return std::ranges::any_of(n, [](double one) { return one != 0; });
}
Result Where(Numbers n) { return n[0] != 0 ? n[1] : n[2]; }
/// Pairs of a value and its condition; the first that holds.
Result Piecewise(Numbers n) {
  for (std::size_t i = 0; i + 1 < n.size(); i += 2) {
    if (n[i + 1] != 0) return n[i];
  }
  return std::nullopt;
}

using Op = SizeOperation;
constexpr SizeOperation kOperations[] = {
    {{"+", "Add"}, Op::kSum, 1, kAny, &Add},
    {{"-"}, Op::kSum, 2, 2, &Subtract},
    {{"*", "Mul"}, Op::kProduct, 1, kAny, &Multiply},
    {{"/", "IntTrueDiv", "FloatTrueDiv", "Rational"},
     Op::kProduct,
     2,
     2,
     &Divide},
    {{"//", "FloorDiv", "CleanDiv"}, Op::kProduct, 2, 2, &FloorDivide},
    {{"%", "Mod", "PythonMod"}, Op::kProduct, 2, 2, &Modulo},
    {{"**", "Pow", "PowByNatural", "FloatPow"}, Op::kPower, 2, 2, &Power},
    {{"neg"}, Op::kSign, 1, 1, &Negate},
    {{"CeilDiv"}, Op::kCall, 2, 2, &CeilDivide},
    {{"ModularIndexing"}, Op::kCall, 3, 3, &ModularIndex},
    {{"Max", "max"}, Op::kCall, 1, kAny, &Largest},
    {{"Min", "min"}, Op::kCall, 1, kAny, &Least},
    {{"Abs", "abs"}, Op::kCall, 1, 1, &Absolute},
    {{"floor", "FloorToInt"}, Op::kCall, 1, 1, &Floor},
    {{"ceiling", "CeilToInt", "ceil"}, Op::kCall, 1, 1, &Ceil},
    {{"TruncToInt", "TruncToFloat", "int"}, Op::kCall, 1, 1, &Truncate},
    {{"RoundToInt", "round"}, Op::kCall, 1, 1, &Round},
    {{"OpaqueUnaryFn_sqrt", "sqrt"}, Op::kCall, 1, 1, &Root},
    {{"ToFloat", "Identity", "float"}, Op::kCall, 1, 1, &Same},
    {{"Where"}, Op::kCall, 3, 3, &Where},
    {{"Piecewise"}, Op::kCall, 2, kAny, &Piecewise},
    {{"==", "Equality", "Eq"}, Op::kCompare, 2, 2, &Equal},
    {{"!=", "Unequality", "Ne"}, Op::kCompare, 2, 2, &Unequal},
    {{"<", "StrictLessThan", "Lt"}, Op::kCompare, 2, 2, &Less},
    {{"<=", "LessThan", "Le"}, Op::kCompare, 2, 2, &LessOrEqual},
    {{">", "StrictGreaterThan", "Gt"}, Op::kCompare, 2, 2, &Greater},
    {{">=", "GreaterThan", "Ge"}, Op::kCompare, 2, 2, &GreaterOrEqual},
    {{"Not"}, Op::kCall, 1, 1, &Not},
    {{"and", "And"}, Op::kAnd, 1, kAny, &And},
    {{"or", "Or"}, Op::kOr, 1, kAny, &Or},
};

}  // namespace

const SizeOperation* FindSizeOperation(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const SizeOperation& operation : kOperations) {
    if (std::ranges::count(operation.names, name) != 0) return &operation;
  }
  return nullptr;
}

}  // namespace foretell
