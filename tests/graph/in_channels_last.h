#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <regex>
#include <string>

namespace foretell {

/// The text of a graph with all tensors of four dimensions channels-last:
/// "f32[2,8,6,6]" becomes "f32[2,8,6,6] strides=[288, 1, 48, 8]".
inline std::string InChannelsLast(const std::string& text) {
  static const std::regex images(R"(\w+\[(\d+),(\d+),(\d+),(\d+)\])");
  std::string converted;
  std::string rest = text;
  for (std::smatch match; std::regex_search(rest, match, images);) {
    const std::int64_t channels = std::stoll(match[2]);
    const std::int64_t height = std::stoll(match[3]);
    const std::int64_t width = std::stoll(match[4]);
    converted += match.prefix();
    converted +=
        fmt::format("{} strides=[{}, 1, {}, {}]", match.str(),
                    height * width * channels, width * channels, channels);
    rest = match.suffix();
  }
  return converted + rest;
}

}  // namespace foretell
