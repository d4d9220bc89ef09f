#pragma once

#include <string>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

constexpr bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

/// True for the characters of an unquoted name: letters, digits and "_./$-".
constexpr bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == '.' || c == '/' || c == '$' ||
         c == '-';
}

/// True for the characters of an unquoted operator: letters, digits and "_:".
constexpr bool IsWordCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == ':';
}

/// `text` between double quotes; `"`, `\` and what is not Printable
/// (printable.h) are escaped as \", \\, \n, \t, \r and \xNN.
std::string Quoted(std::string_view text);

/// Shortest text that reads back as the same double and not as an integer.
std::string DoubleText(double number);

/// Text form of an attribute's value, e.g. `[1, 2]`, `0.5`, `"mean"`.
std::string AttributeText(const Attribute& attribute);

}  // namespace foretell
