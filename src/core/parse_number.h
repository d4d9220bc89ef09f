#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace foretell {

/// Reads a number off the front of `text`; leaves `text` unchanged if it begins
/// with no number or one that does not fit `T`. No blanks, no leading `+`.
template <typename T>
std::optional<T> TakeNumber(std::string_view& text) {
  T number{};
  const auto [rest, status] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

/// `text` as a number, if all of it is one that fits `T`. "inf" and "nan" are
/// numbers where `T` is a floating-point type.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  const std::optional<T> number = TakeNumber<T>(text);
  return text.empty() ? number : std::nullopt;
}

}  // namespace foretell
