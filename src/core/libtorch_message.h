#pragma once

#include <string>
#include <string_view>

#include "src/core/text.h"

namespace foretell {

/// The cause in a message of LibTorch: its first line, and of an assertion the
/// text after the location and the 'please report a bug' line. Untrusted files
/// reach many assertions: these are not bugs to report to PyTorch.
inline std::string LibTorchMessage(std::string_view text) {
  constexpr std::string_view kPlace = " INTERNAL ASSERT FAILED at ";
  constexpr std::string_view kWish = "please report a bug to PyTorch.";
  const std::string line = FirstLine(text);
  const std::size_t place = line.find(kPlace);
  const std::size_t wish = line.find(kWish);
  if (place == std::string::npos || wish == std::string::npos) return line;
  std::string said =
      FirstLine(std::string_view(line).substr(wish + kWish.size()));
  return said.empty() ? "LibTorch expects " + line.substr(0, place) : said;
}

}  // namespace foretell
