#pragma once

#include <string>
#include <string_view>

namespace foretell {

/// The first non-blank line of `text` without leading white space: LibTorch's
/// messages continue with a stack trace.
inline std::string FirstLine(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

/// `words`, a range of strings, with `separator` between them.
template <typename Words>
std::string Joined(const Words& words, std::string_view separator = ", ") {
  std::string text;
  std::string_view before;
  for (const std::string& word : words) {
    text.append(before).append(word);
    before = separator;
  }
  return text;
}

}  // namespace foretell
