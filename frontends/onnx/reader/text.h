#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "foretell/error.h"
#include "frontends/onnx/reader/model.h"

/// Helpers for the reader's messages.
namespace foretell::onnx {

/// `name` in single quotes, cut if it is long.
std::string Quoted(std::string_view name);

/// "node 'conv1' (Conv)"; a node without a name is named by its first output:
/// "node of 'y' (Conv)".
std::string NodeLabel(const Node& node);

/// "[64,3,7,7]", cut after a few dimensions.
std::string DimsText(std::span<const std::int64_t> dims);

/// "'w' FLOAT[64,3,7,7]".
std::string TensorText(const TensorLiteral& tensor);

/// Calls `body`; puts `label()` before the message of an Error that it throws.
template <typename Label, typename Body>
auto InContext(const Label& label, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw WithContext(label(), error);
  }
}

}  // namespace foretell::onnx
