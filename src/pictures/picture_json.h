#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretell::pictures {

/// Index of an operator, value or storage in the graph's lists; not kNone.
constexpr std::size_t Index(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

/// `value` with four significant digits, enough for a chart.
double Brief(double value);

/// Longest name in a chart, in bytes.
inline constexpr std::size_t kMaxNameBytes = 120;

/// `name` made Printable (printable.h), with the middle of a long one cut.
std::string Clipped(std::string_view name);

}  // namespace foretell::pictures
