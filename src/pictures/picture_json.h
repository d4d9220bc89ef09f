#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretell::pictures {

/// The place of an operator, value or storage in the graph's lists; not kNone.
constexpr std::size_t Index(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

/// `value` with four significant digits: more than a picture shows, and short.
double Brief(double value);

/// At most this much of a name goes into a picture.
inline constexpr std::size_t kMaxNameBytes = 120;

/// `name` made Printable (printable.h), its middle left out where it is long.
std::string Clipped(std::string_view name);

}  // namespace foretell::pictures
