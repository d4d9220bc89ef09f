#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

struct SizeOperation;  // src/program/size_operations.h

/// A size as a formula of other sizes: "past+new", "2*s77+1", "s0//2*(s1//2)",
/// "Max(s0, s1)". Operators and functions are those by which SymPy and
/// torch.export write sizes (size_operations.h); numbers are exact up to 2^53.
class SizeExpression {
 public:
  /// Sizes by the names of symbols.
  using Values = std::map<std::string, std::int64_t, std::less<>>;

  /// A longer text is not parsed.
  static constexpr std::size_t kMostTerms = 400;

  /// Reads what Python writes ("s0//2 + 1"; `L['x'].size()[1]` is the symbol
  /// "x.1") and what SymPy's srepr does ("Add(Symbol('s0', integer=True),
  /// Integer(1))"). Empty for any other text.
  static std::optional<SizeExpression> Parse(std::string_view text);

  SizeExpression() = default;  ///< The number 0.
  explicit SizeExpression(double number) : number_(number) {}
  explicit SizeExpression(std::string symbol) : symbol_(std::move(symbol)) {}
  SizeExpression(const SizeOperation& operation,
                 std::vector<SizeExpression> operands)
      : operation_(&operation), operands_(std::move(operands)) {}

  /// True where it is one symbol and nothing else.
  bool IsSymbol() const { return !symbol_.empty(); }
  /// True where it has no symbols.
  bool IsFixed() const { return Symbols().empty(); }
  std::set<std::string> Symbols() const;
  /// Numbers, symbols and operations in it.
  std::size_t NumTerms() const;
  /// The operation at the top; null for a number or a symbol.
  const SizeOperation* operation() const { return operation_; }
  const std::vector<SizeExpression>& operands() const { return operands_; }

  /// Its value; empty if a symbol has no value, or if it is not a whole number,
  /// or one above 2^53.
  std::optional<std::int64_t> Evaluate(const Values& values) const;
  /// The size of `symbol` at which it is `target`; empty where it is not linear
  /// in `symbol`, another symbol has no value, or no whole number will do.
  std::optional<std::int64_t> Solve(const std::string& symbol,
                                    std::int64_t target,
                                    const Values& values) const;
  /// With `replacement` wherever `symbol` occurs.
  SizeExpression Substitute(const std::string& symbol,
                            const SizeExpression& replacement) const;
  /// As Python would have it: "2*s77+1".
  std::string ToString() const;

 private:
  /// factor × the symbol + offset.
  struct Line {
    double factor = 0;
    double offset = 0;
  };

  std::optional<double> Compute(const Values& values) const;
  std::optional<Line> LineIn(const std::string& symbol,
                             const Values& values) const;
  std::string Print(int outer_strength) const;

  const SizeOperation* operation_ = nullptr;
  double number_ = 0;
  std::string symbol_;
  std::vector<SizeExpression> operands_;
};

/// What is known of a size.
struct SizeEquation {
  SizeExpression size;
  std::int64_t value = 0;
};

/// Adds to `values` each symbol that follows from `equations`, one after the
/// other: one that is the only unknown of an equation, and linear in it.
void SolveSizes(const std::vector<SizeEquation>& equations,
                SizeExpression::Values& values);

}  // namespace foretell
