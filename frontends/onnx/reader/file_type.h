#pragma once

#include <string_view>

namespace foretell::onnx {

/// Likely type of a file that is not an ONNX model, by its first bytes (about
/// 512 suffice): "a PNG image", "text"; empty when nothing is recognised.
std::string_view GuessFileType(std::string_view first_bytes);

}  // namespace foretell::onnx
