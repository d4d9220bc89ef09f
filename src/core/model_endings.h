#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace foretell {

/// Endings of the names of model files.
inline constexpr std::array<std::string_view, 6> kModelEndings = {
    ".onnx", ".pt", ".pt2", ".pth", ".ts", ".torchscript"};

/// Whether a file of that name counts as a model, whatever it holds.
inline bool HasModelEnding(const std::filesystem::path& path) {
  return std::ranges::count(kModelEndings, path.extension().string()) > 0;
}

}  // namespace foretell
