#include "frontends/exported/sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"

namespace foretell::exported {
namespace {

constexpr int kMostTerms = 64;
constexpr std::int64_t kMostCoefficient = std::int64_t{1} << 31;

/// Parses by descent; a text has few levels and terms, more are not linear.
class SizeParser {
 public:
  explicit SizeParser(std::string_view text) : rest_(text) {}

  Size Parse() {
    Size size = Term(0);
    if (!rest_.empty()) failed_ = true;
    size.is_known = !failed_;
    return size;
  }

 private:
  Size Term(int level) {
    if (level > 8 || ++terms_ > kMostTerms) failed_ = true;
    if (failed_) return {};
    if (Take("Integer(")) return Integer();
    if (Take("Symbol('")) return Symbol();
    if (Take("Add(")) return Combine(level, &Plus);
    if (Take("Mul(")) return Combine(level, &Times);
    failed_ = true;
    return {};
  }

  Size Integer() {
    const auto number = TakeNumber<std::int64_t>(rest_);
    if (!number || !Take(")") || !IsSmall(*number)) {
      failed_ = true;
      return {};
    }
    return {.symbol = {}, .factor = 0, .offset = *number, .example = {}};
  }

  Size Symbol() {
    const std::size_t quote = rest_.find('\'');
    const std::size_t end = rest_.find(')');
    if (quote == 0 || quote == std::string_view::npos ||
        end == std::string_view::npos || end < quote) {
      failed_ = true;
      return {};
    }
    Size size{.symbol = std::string(rest_.substr(0, quote)), .example = {}};
    rest_.remove_prefix(end + 1);
    return size;
  }

  Size Combine(int level, Size (*operation)(const Size&, const Size&)) {
    Size size = Term(level + 1);
    while (!failed_ && Take(", ")) {
      size = operation(size, Term(level + 1));
      const bool fits = IsSmall(size.factor) && IsSmall(size.offset);
      if (!fits || size.symbol == kMixed) failed_ = true;
    }
    if (!Take(")")) failed_ = true;
    return size;
  }

  /// Marks a sum or product that is not linear in one symbol.
  static constexpr std::string_view kMixed = "?";

  static Size Plus(const Size& a, const Size& b) {
    const bool two = !a.symbol.empty() && !b.symbol.empty();
    if (two && a.symbol != b.symbol) return {.symbol = std::string(kMixed)};
    return {.symbol = a.symbol.empty() ? b.symbol : a.symbol,
            .factor = a.factor + b.factor,
            .offset = a.offset + b.offset,
            .example = {}};
  }

  static Size Times(const Size& a, const Size& b) {
    if (!a.symbol.empty() && !b.symbol.empty()) {
      return {.symbol = std::string(kMixed)};
    }
    const Size& number = a.symbol.empty() ? a : b;
    const Size& other = a.symbol.empty() ? b : a;
    return {.symbol = other.symbol,
            .factor = other.factor * number.offset,
            .offset = other.offset * number.offset,
            .example = {}};
  }

  /// Products of two such stay within 64 bits.
  static bool IsSmall(std::int64_t number) {
    return number >= -kMostCoefficient && number <= kMostCoefficient;
  }

  bool Take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view rest_;
  int terms_ = 0;
  bool failed_ = false;
};

const SizeRange* RangeOf(const Model& model, const std::string& symbol) {
  const auto range = model.ranges.find(symbol);
  return range == model.ranges.end() ? nullptr : &range->second;
}

/// "at least 3", "at most 64", "3 to 64".
std::string Describe(const AllowedSizes& sizes) {
  if (!sizes.most) return fmt::format("at least {}", sizes.least);
  if (sizes.least == 0) return fmt::format("at most {}", *sizes.most);
  return fmt::format("{} to {}", sizes.least, *sizes.most);
}

bool Contains(const AllowedSizes& sizes, std::int64_t value) {
  return value >= sizes.least && value <= sizes.most.value_or(value);
}

[[noreturn]] void Refuse(const std::string& input, std::size_t dim,
                         std::int64_t value, const std::string& expected) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("input '{}': dimension {} is {}, {}", input, dim,
                          value, expected));
}

[[noreturn]] void RefuseBeyond(const Size& size) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("size '{}' exceeds int64", ToString(size)));
}

std::string HowToFree(const std::string& input, std::size_t dim,
                      std::int64_t fixed) {
  return fmt::format(
      "the file fixes it at {}; to vary it, export the network again with "
      "dynamic_shapes={{'{}': {{{}: torch.export.Dim.AUTO}}}}",
      fixed, input, dim);
}

}  // namespace

Size ParseSize(std::string_view text) { return SizeParser(text).Parse(); }

std::string ToString(const Size& size) {
  if (size.symbol.empty()) return fmt::format("{}", size.offset);
  std::string text = size.symbol;
  if (size.factor != 1) text = fmt::format("{}*{}", size.factor, text);
  if (size.offset > 0) text += fmt::format("+{}", size.offset);
  if (size.offset < 0) text += fmt::format("{}", size.offset);
  return text;
}

AllowedSizes AllowedBy(const SizeRange& range) {
  constexpr std::int64_t kLeastOfOpen = 2;
  const std::int64_t least = range.at_least.value_or(0);
  return {.least = least > kLeastOfOpen ? least : 0, .most = range.at_most};
}

AllowedSizes AllowedFor(const Model& model, const Size& size) {
  const bool is_symbol =
      size.is_known && !size.symbol.empty() && ToString(size) == size.symbol;
  const SizeRange* range = is_symbol ? RangeOf(model, size.symbol) : nullptr;
  return range == nullptr ? AllowedSizes() : AllowedBy(*range);
}

Symbols::Symbols(const Model& model,
                 const std::vector<std::vector<std::int64_t>>& shapes) {
  Bind(model, shapes);
  std::size_t next = 0;
  for (const ModelInput& input : model.inputs) {
    if (input.kind == InputKind::kUser) Check(model, input, shapes.at(next++));
  }
}

void Symbols::Bind(const Model& model,
                   const std::vector<std::vector<std::int64_t>>& shapes) {
  std::size_t next = 0;
  for (const ModelInput& input : model.inputs) {
    if (input.kind != InputKind::kUser) continue;
    const std::vector<std::int64_t>& shape = shapes.at(next++);
    const std::vector<Size>& sizes = input.tensor.sizes;
    for (std::size_t i = 0; i < std::min(shape.size(), sizes.size()); ++i) {
      const Size& size = sizes[i];
      if (!size.is_known || size.symbol.empty() || size.factor != 1) continue;
      std::int64_t value = 0;
      if (__builtin_sub_overflow(shape[i], size.offset, &value)) {
        RefuseBeyond(size);
      }
      values_.emplace(size.symbol, value);
    }
  }
}

void Symbols::Check(const Model& model, const ModelInput& input,
                    const std::vector<std::int64_t>& shape) const {
  const std::vector<Size>& sizes = input.tensor.sizes;
  if (shape.size() != sizes.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("input '{}' has {}, the file fixes {}", input.name,
                            Counted(shape.size(), "dimension"), sizes.size()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Size& size = sizes[i];
    if (!size.is_known) continue;
    const std::int64_t expected = ValueOf(size);
    if (size.symbol.empty() && shape[i] != expected) {
      Refuse(input.name, i, shape[i], HowToFree(input.name, i, expected));
    }
    if (shape[i] != expected) {
      Refuse(input.name, i, shape[i],
             fmt::format("expected {} ({})", expected, ToString(size)));
    }
    const SizeRange* range = RangeOf(model, size.symbol);
    const auto value = values_.find(size.symbol);
    if (range == nullptr || value == values_.end()) continue;
    const AllowedSizes allowed = AllowedBy(*range);
    if (!Contains(allowed, value->second)) {
      Refuse(input.name, i, shape[i],
             fmt::format("the file allows {} = {}", size.symbol,
                         Describe(allowed)));
    }
  }
}

std::int64_t Symbols::ValueOf(const Size& size) const {
  if (size.symbol.empty() && size.is_known) return size.offset;
  const auto value = values_.find(size.symbol);
  if (!size.is_known || value == values_.end()) return size.example.value_or(1);
  std::int64_t result = 0;
  if (__builtin_mul_overflow(size.factor, value->second, &result) ||
      __builtin_add_overflow(result, size.offset, &result)) {
    RefuseBeyond(size);
  }
  return result;
}

}  // namespace foretell::exported
