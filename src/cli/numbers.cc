#include "src/cli/numbers.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace foretell::cli {

std::string FormatSignificant(double value) {
  std::array<char, 64> text{};
  const bool large = std::fabs(value) >= 999.5;
  std::snprintf(text.data(), text.size(), large ? "%.0f" : "%.3g", value);
  return text.data();
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

}  // namespace foretell::cli
