#pragma once

#include <ATen/core/Tensor.h>

#include <variant>
#include <vector>

namespace foretell::onnx {

using Sequence = std::vector<at::Tensor>;

/// The value of a name of an ONNX graph at run time. An absent optional input
/// and an empty `optional` are std::monostate.
using Value = std::variant<std::monostate, at::Tensor, Sequence>;

}  // namespace foretell::onnx
