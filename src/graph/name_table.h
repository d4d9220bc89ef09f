#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace foretell {

/// Names of an enumeration's values 0 … N-1, in their order.
template <std::size_t N>
using NameTable = std::array<std::string_view, N>;

/// The name of `value`, or "invalid" for a value outside the enumeration.
template <typename Enum, std::size_t N>
constexpr std::string_view NameIn(const NameTable<N>& table, Enum value) {
  const std::size_t index = static_cast<std::size_t>(value);
  return index < N ? table[index] : std::string_view("invalid");
}

/// The value called `name`, or empty.
template <typename Enum, std::size_t N>
constexpr std::optional<Enum> FindIn(const NameTable<N>& table,
                                     std::string_view name) {
  const auto* found = std::find(table.begin(), table.end(), name);
  if (found == table.end()) return std::nullopt;
  return static_cast<Enum>(found - table.begin());
}

}  // namespace foretell
