#include "src/graph/text_elements.h"

#include <variant>
#include <vector>

#include "src/core/parse_number.h"

namespace foretell {
namespace {

using Number = std::variant<std::int64_t, double>;

/// Far beyond any operator's list, and any tensor's dimensions: the memory of
/// one element of a text stays small compared with the text.
constexpr std::size_t kMostNumbers = std::size_t{1} << 20;
constexpr std::size_t kMostDimensions = 1000;

Number ReadNumber(TextCursor& cursor) {
  const std::string_view text = cursor.NumberText();
  if (text == "true") return std::int64_t{1};
  if (text == "false") return std::int64_t{0};
  if (text.empty()) cursor.Expected("a value");
  if (const auto number = ParseNumber<std::int64_t>(text)) return *number;
  if (const auto number = ParseNumber<double>(text)) return *number;
  cursor.Fail(fmt::format("'{}' is not a number in range", text));
}

/// `[1, 2]` or, as soon as one element is one, a list of floating-point
/// numbers.
Attribute ParseList(TextCursor& cursor, bool floating) {
  std::vector<Number> numbers;
  cursor.Open('[');
  while (cursor.Peek() != ']') {
    if (!numbers.empty()) cursor.Expect(",");
    if (numbers.size() == kMostNumbers) {
      cursor.Fail(fmt::format("a list has more than {} numbers", kMostNumbers));
    }
    numbers.push_back(ReadNumber(cursor));
    floating |= std::holds_alternative<double>(numbers.back());
  }
  cursor.Close(']');
  std::vector<std::int64_t> ints;
  std::vector<double> doubles;
  for (const Number& number : numbers) {
    if (!floating) ints.push_back(std::get<std::int64_t>(number));
    std::visit([&](auto n) { doubles.push_back(static_cast<double>(n)); },
               number);
  }
  if (floating) return doubles;
  return ints;
}

/// `[8,64]`, one number per dimension; `what` names one of them.
std::vector<std::int64_t> ParseDimensions(TextCursor& cursor,
                                          std::string_view what) {
  std::vector<std::int64_t> numbers;
  cursor.Open('[');
  while (cursor.Peek() != ']') {
    if (!numbers.empty()) cursor.Expect(",");
    if (numbers.size() == kMostDimensions) {
      cursor.Fail(
          fmt::format("a type has more than {} dimensions", kMostDimensions));
    }
    numbers.push_back(cursor.Int(what));
  }
  cursor.Close(']');
  return numbers;
}

}  // namespace

Attribute ParseAttribute(TextCursor& cursor) {
  if (cursor.Peek() == '"') return cursor.String();
  if (cursor.Peek() == '[') return ParseList(cursor, false);
  const std::string_view word = cursor.PeekWord();
  if (word == "floats" && cursor.Accept(word)) return ParseList(cursor, true);
  if (word == "true" || word == "false")
    return cursor.Accept(word) && word == "true";
  return std::visit([](auto number) { return Attribute(number); },
                    ReadNumber(cursor));
}

std::string WordOrString(TextCursor& cursor, std::string_view what) {
  return cursor.Peek() == '"' ? cursor.String() : cursor.Word(what);
}

TensorType ParseType(TextCursor& cursor) {
  TensorType type;
  const std::string name = cursor.Word("an element type such as f32");
  type.dtype = Known(cursor, ParseDType(name), "element type", name);
  type.shape = ParseDimensions(cursor, "a size");
  return type;
}

Strides ParseStrides(TextCursor& cursor) {
  if (!cursor.AcceptWord("strides")) return {};
  cursor.Expect("=");
  Strides strides = ParseDimensions(cursor, "a stride");
  if (strides.empty()) cursor.Fail("strides are empty, expected at least one");
  return strides;
}

std::optional<TensorRole> ParseRoleWord(std::string_view word) {
  if (word == "weight") return TensorRole::kParameter;
  return ParseTensorRole(word);
}

}  // namespace foretell
