// Descent over Python's operators and SymPy's srepr, which is calls alone.

#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "src/core/parse_number.h"
#include "src/program/size_expression.h"
#include "src/program/size_operations.h"

namespace foretell {
namespace {

constexpr int kMostSizeLevels = 60;
/// Whole ones are exact up to here.
constexpr double kMostSizeNumber = 9007199254740992.0;

struct SizeLevel {
  int strength;
  std::span<const std::string_view> operators;
};

constexpr std::string_view kSizeOr[] = {"or"};
constexpr std::string_view kSizeAnd[] = {"and"};
/// A longer one before its beginning.
constexpr std::string_view kSizeComparisons[] = {
    "==", "!=", "<=", ">=", "<", ">"};
constexpr std::string_view kSizeSums[] = {"+", "-"};
constexpr std::string_view kSizeProducts[] = {"//", "*", "/", "%"};
constexpr std::array kSizeLevels = {
    SizeLevel{SizeOperation::kOr, kSizeOr},
    SizeLevel{SizeOperation::kAnd, kSizeAnd},
    SizeLevel{SizeOperation::kCompare, kSizeComparisons},
    SizeLevel{SizeOperation::kSum, kSizeSums},
    SizeLevel{SizeOperation::kProduct, kSizeProducts}};

/// What "not" negates.
constexpr std::size_t kComparison = 2;

bool IsSymbolCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class SizeParser {
 public:
  explicit SizeParser(std::string_view text) : rest_(text) {}

  std::optional<SizeExpression> Parse() {
    SizeExpression size = Binary(0);
    SkipBlanks();
    if (failed_ || !rest_.empty()) return std::nullopt;
    return size;
  }

 private:
  using Operands = std::vector<SizeExpression>;

  SizeExpression Fail() {
    failed_ = true;
    return {};
  }

  /// Operators of kSizeLevels[level] and of those after it.
  SizeExpression Binary(std::size_t level) {
    if (level == kSizeLevels.size()) return Signed();
    SizeExpression left = Binary(level + 1);
    while (!failed_) {
      const std::string_view name = TakeOperator(kSizeLevels[level].operators);
      if (name.empty()) break;
      SizeExpression right = Binary(level + 1);
      left = Call(name, {std::move(left), std::move(right)});
    }
    return left;
  }

  SizeExpression Signed() {
    if (!Enter()) return Fail();
    SizeExpression size;
    if (Take("-")) {
      size = Call("neg", {Signed()});
    } else if (TakeWord("not")) {
      size = Call("Not", {Binary(kComparison)});
    } else {
      size = Atom();
      if (Take("**")) size = Call("**", {std::move(size), Signed()});
    }
    --level_;
    return size;
  }

  SizeExpression Atom() {
    SkipBlanks();
    if (Take("(")) {
      SizeExpression size = Binary(0);
      return Take(")") ? size : Fail();
    }
    if (!rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_[0]))) {
      const auto number = TakeNumber<double>(rest_);
      return number && *number <= kMostSizeNumber ? SizeExpression(*number)
                                                  : Fail();
    }
    const std::string name = TakeName();
    if (name.empty()) return Fail();
    if (name == "L" && rest_.starts_with('[')) return SizeOfInput();
    if (name == "True" || name == "true") return SizeExpression(1.0);
    if (name == "False" || name == "false") return SizeExpression(0.0);
    return Take("(") ? CallOf(name) : SizeExpression(name);
  }

  /// Behind "NAME(".
  SizeExpression CallOf(const std::string& name) {
    if (name == "Symbol") return QuotedSymbol();
    if (name == "Float") return QuotedNumber();
    Operands operands;
    while (!failed_ && !Take(")")) {
      if (!operands.empty() && !Take(",")) return Fail();
      if (name == "Piecewise") {
        TakeCase(operands);
      } else {
        operands.push_back(Binary(0));
      }
    }
    if (failed_ || operands.empty()) return Fail();
    if (name == "Integer") return std::move(operands.front());
    return Call(name, std::move(operands));
  }

  /// "ExprCondPair(value, condition)" or "(value, condition)".
  void TakeCase(Operands& operands) {
    TakeWord("ExprCondPair");
    if (!Take("(")) failed_ = true;
    operands.push_back(Binary(0));
    if (!Take(",")) failed_ = true;
    operands.push_back(Binary(0));
    if (!Take(")")) failed_ = true;
  }

  /// Behind "Symbol(": what SymPy assumes of it follows its name.
  SizeExpression QuotedSymbol() {
    const std::string name = TakeQuoted();
    return name.empty() || !SkipToEnd() ? Fail() : SizeExpression(name);
  }

  SizeExpression QuotedNumber() {
    const auto number = ParseNumber<double>(TakeQuoted());
    const bool fits = number && std::abs(*number) <= kMostSizeNumber;
    return !fits || !SkipToEnd() ? Fail() : SizeExpression(*number);
  }

  /// Behind "L": "['x'].size()[1]", "['xs'][0].size()[1]".
  SizeExpression SizeOfInput() {
    std::string input;
    while (!failed_ && Take("[")) {
      std::string part = TakeQuoted();
      if (part.empty()) part = TakeDigits();
      if (part.empty() || !Take("]")) return Fail();
      input += input.empty() ? part : "_" + part;
    }
    if (input.empty() || !Take(".size()[")) return Fail();
    const std::string dim = TakeDigits();
    if (dim.empty() || !Take("]")) return Fail();
    return SizeExpression(input + "." + dim);
  }

  SizeExpression Call(std::string_view name, Operands operands) {
    const SizeOperation* operation = FindSizeOperation(name);
    if (operation == nullptr || operands.size() < operation->least_operands ||
        operands.size() > operation->most_operands) {
      return Fail();
    }
    const bool is_number = operation->names[0] == "neg" &&
                           operands.front().operation() == nullptr &&
                           operands.front().IsFixed();
    SizeExpression size(*operation, std::move(operands));
    if (!is_number) return size;
    return SizeExpression(static_cast<double>(size.Evaluate({}).value_or(0)));
  }

  bool Enter() {
    return !failed_ && ++level_ <= kMostSizeLevels && CountTerm();
  }
  bool CountTerm() { return ++terms_ <= SizeExpression::kMostTerms; }

  void SkipBlanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  bool Take(std::string_view word) {
    SkipBlanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool TakeWord(std::string_view word) {
    SkipBlanks();
    const bool ends =
        rest_.size() == word.size() ||
        (rest_.size() > word.size() && !IsSymbolCharacter(rest_[word.size()]));
    return ends && Take(word);
  }

  std::string_view TakeOperator(std::span<const std::string_view> operators) {
    SkipBlanks();
    if (rest_.starts_with("**")) return {};
    for (const std::string_view name : operators) {
      const bool is_word = IsSymbolCharacter(name.front());
      if (is_word ? TakeWord(name) : Take(name)) return name;
    }
    return {};
  }

  std::string TakeName() {
    std::size_t length = 0;
    while (length < rest_.size() && IsSymbolCharacter(rest_[length])) ++length;
    std::string name(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return name;
  }

  std::string TakeDigits() {
    std::size_t length = 0;
    while (length < rest_.size() && rest_[length] >= '0' &&
           rest_[length] <= '9') {
      ++length;
    }
    std::string digits(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return digits;
  }

  std::string TakeQuoted() {
    SkipBlanks();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) {
      return "";
    }
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return "";
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool SkipToEnd() {
    const std::size_t end = rest_.find(')');
    if (end == std::string_view::npos) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }

  std::string_view rest_;
  std::size_t terms_ = 0;
  int level_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<SizeExpression> SizeExpression::Parse(std::string_view text) {
  return SizeParser(text).Parse();
}

}  // namespace foretell
