#pragma once

#include <string>
#include <string_view>

namespace foretell {

/// The first line of `text` that is not blank at its beginning, without the
/// white space before it: LibTorch's messages go on with a stack trace.
inline std::string FirstLine(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

}  // namespace foretell
