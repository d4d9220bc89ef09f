#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "src/core/failure.h"

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

/// The value called `name`, or empty. Functions Parse…() that return an
/// optional use this.
template <typename Enum, std::size_t N>
constexpr std::optional<Enum> FindIn(const NameTable<N>& table,
                                     std::string_view name) {
  const auto* found = std::find(table.begin(), table.end(), name);
  if (found == table.end()) return std::nullopt;
  return static_cast<Enum>(found - table.begin());
}

/// The value called `name`. Throws Error(kInvalidArgument) that states `what`
/// was expected and lists the known names.
template <typename Enum, std::size_t N>
Enum RequireIn(const NameTable<N>& table, std::string_view name,
               std::string_view what) {
  if (const std::optional<Enum> found = FindIn<Enum>(table, name)) {
    return *found;
  }
  std::string known;
  for (const std::string_view one : table) {
    known.append(known.empty() ? "" : ", ").append(one);
  }
  throw InvalidArgument("{} '{}': expected one of {}", what, name, known);
}

}  // namespace foretell
