#include "src/core/numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace foretell {
namespace {

/// `value` by a format of printf that takes a precision.
std::string Printed(const char* format, int precision, double value) {
  const int size = std::snprintf(nullptr, 0, format, precision, value);
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, precision, value);
  text.pop_back();
  return text;
}

}  // namespace

std::string FormatNumber(double value, int decimals) {
  return Printed("%.*f", decimals, value);
}

std::string FormatShort(double value, int digits) {
  return Printed("%.*g", digits, value);
}

std::string FormatSignificant(double value) {
  return std::fabs(value) >= 999.5 ? FormatNumber(value, 0)
                                   : FormatShort(value, 3);
}

std::string FormatExact(double value) {
  std::array<char, 32> text;
  const auto [end, status] =
      std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string FormatPercent(double share, int decimals) {
  return FormatNumber(100 * share, decimals) + " %";
}

std::string FormatCount(std::int64_t value) {
  constexpr std::array<std::pair<double, const char*>, 4> kPrefixes = {
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  const double number = static_cast<double>(value);
  for (const auto& [scale, prefix] : kPrefixes) {
    if (number >= scale) return FormatSignificant(number / scale) + prefix;
  }
  return std::to_string(value);
}

}  // namespace foretell
