#pragma once

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Most nodes that a model may have once every call of a model-local function
/// is replaced by the function's body.
inline constexpr std::int64_t kMaxExpandedNodes = 1 << 20;
/// Deepest chain of functions that call each other.
inline constexpr int kMaxCallDepth = 64;

/// Throws Error: kCorrupt when two functions have the same domain, name and
/// overload or when a function calls itself, directly or not; kUnsupported
/// beyond kMaxExpandedNodes or kMaxCallDepth.
void CheckFunctions(const Model& model);

}  // namespace foretell::onnx
