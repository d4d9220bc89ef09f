#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretell {

/// `value` with `decimals` digits after the point: "4864.0".
std::string FormatNumber(double value, int decimals);

/// At most `digits` significant digits, as short as C's %g: "0.0123",
/// "1.2e+06".
std::string FormatShort(double value, int digits = 3);

/// Three significant digits below 1000, whole numbers above: "0.0123", "12.3",
/// "12345".
std::string FormatSignificant(double value);

/// A short text that reads back as the same number: "0.1", "1e+300".
std::string FormatExact(double value);

/// `share` of 1 in percent, with `decimals` digits: "12.50 %".
std::string FormatPercent(double share, int decimals);

/// "1 point", "3 points".
std::string Counted(std::integral auto count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// With a decimal prefix: "25.6 M", "4.09 G", "512".
std::string FormatCount(std::int64_t value);

}  // namespace foretell
