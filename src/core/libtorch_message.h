#pragma once

#include <string>
#include <string_view>

#include "src/core/text.h"

namespace foretell {

/// What a message of LibTorch says went wrong: its first line, and of an
/// assertion what stands behind its place and the wish to hear of it. Files of
/// strangers reach many assertions: PyTorch need not hear of them.
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
