#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace foretell {

/// `text` if it has at most `most` bytes, else its beginning and "…", together
/// at most `most` bytes, cut between UTF-8 characters. Requires `most` >= 3.
inline std::string Shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kEllipsis = "…";
  if (text.size() <= most) return std::string(text);
  std::size_t end = most - kEllipsis.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return std::string(text.substr(0, end)).append(kEllipsis);
}

}  // namespace foretell
