#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace foretell {

/// Whether two texts are the same but for the case of ASCII letters.
inline bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace foretell
