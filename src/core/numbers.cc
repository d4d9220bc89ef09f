#include "src/core/numbers.h"

#include <array>
#include <cmath>
#include <utility>

namespace foretell {

std::string FormatNumber(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string FormatShort(double value, int digits) {
  return fmt::format("{:.{}g}", value, digits);
}

std::string FormatSignificant(double value) {
  return std::fabs(value) >= 999.5 ? FormatNumber(value, 0)
                                   : FormatShort(value, 3);
}

std::string FormatExact(double value) { return fmt::format("{}", value); }

std::string FormatPercent(double share, int decimals) {
  return fmt::format("{:.{}f} %", 100 * share, decimals);
}

std::string FormatCount(std::int64_t value) {
  constexpr std::array<std::pair<double, const char*>, 4> kPrefixes = {
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  const double number = static_cast<double>(value);
  for (const auto& [scale, prefix] : kPrefixes) {
    if (number >= scale) return FormatSignificant(number / scale) + prefix;
  }
  return fmt::format("{}", value);
}

}  // namespace foretell
