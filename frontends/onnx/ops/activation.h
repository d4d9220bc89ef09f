#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "frontends/onnx/node_context.h"

/// Functions applied along an axis or named by an attribute.
namespace foretell::onnx {

/// The activation that a fused operator names, e.g. "Relu" or "LeakyRelu",
/// with its parameters in the order of the attributes of that operator (absent
/// ones have the operator's defaults). Throws kUnsupported for other names.
at::Tensor ApplyActivation(const NodeContext& ctx, std::string_view name,
                           const at::Tensor& x,
                           const std::vector<double>& parameters);

}  // namespace foretell::onnx
