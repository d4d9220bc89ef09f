#pragma once

#include <cstddef>
#include <cstdint>

namespace foretell {

/// `id` as an index of its list.
constexpr std::size_t IndexOf(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

}  // namespace foretell
