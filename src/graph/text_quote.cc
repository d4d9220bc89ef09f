#include "src/graph/text_quote.h"

#include <fmt/format.h>

#include <ranges>
#include <type_traits>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text.h"

namespace foretell {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

/// `c` as text between quotes shows it, but for what cannot be printed.
std::string Escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return std::string(1, c);
  }
}

std::string IntText(std::int64_t number) {
  return fmt::format_int(number).str();
}

}  // namespace

bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == '.' || c == '/' || c == '$' ||
         c == '-';
}

bool IsWordCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == ':';
}

std::string Quoted(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += Escaped(c);
  return '"' + Printable(escaped) + '"';
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
