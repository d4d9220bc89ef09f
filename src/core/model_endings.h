#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace foretell {

/// File extensions of models.
inline constexpr std::array<std::string_view, 6> kModelEndings = {
    ".onnx", ".pt", ".pt2", ".pth", ".ts", ".torchscript"};

/// True if the extension of `path` is that of a model.
inline bool HasModelEnding(const std::filesystem::path& path) {
  return std::ranges::count(kModelEndings, path.extension().string()) > 0;
}

}  // namespace foretell
