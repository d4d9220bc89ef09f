#include "src/graph/text_quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <type_traits>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text.h"

namespace foretell {
namespace {

constexpr std::string_view kEscaped = "\"\\\n\t\r";
constexpr std::string_view kEscapes = "\"\\ntr";

/// Printable ASCII that needs no escape, which most text is all of.
bool StandsForItself(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/// Appends `c` as text in quotes shows it, except what cannot be printed.
void AppendEscaped(char c, std::string& text) {
  const std::size_t special = kEscaped.find(c);
  if (special == std::string_view::npos) {
    text += c;
  } else {
    (text += '\\') += kEscapes[special];
  }
}

std::string IntText(std::int64_t number) {
  return fmt::format_int(number).str();
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  quoted.reserve(text.size() + 2);
  if (std::ranges::all_of(text, &StandsForItself)) {
    quoted += text;
  } else {
    std::string escaped;
    for (const char c : text) AppendEscaped(c, escaped);
    quoted += Printable(escaped);
  }
  return quoted += '"';
}

std::string DoubleText(double number) {
  std::string text = FormatExact(number);
  // Without a dot, an exponent, "inf" or "nan" it would read as an integer.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string AttributeText(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return IntText(value);
        } else if constexpr (std::is_same_v<T, double>) {
          return DoubleText(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return Quoted(value);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return "[" + Joined(value | std::views::transform(IntText)) + "]";
        } else {
          // An empty list of numbers needs its type; others show it.
          return (value.empty() ? "floats[" : "[") +
                 Joined(value | std::views::transform(DoubleText)) + "]";
        }
      },
      attribute);
}

}  // namespace foretell
