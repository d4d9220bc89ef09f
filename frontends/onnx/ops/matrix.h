#pragma once

#include <ATen/core/Tensor.h>

#include "frontends/onnx/node_context.h"

namespace foretell::onnx {

/// `alpha` · A' · B' + `beta` · C for the inputs and attributes of a Gemm node
/// (and of operators that extend it).
at::Tensor Gemm(NodeContext& ctx);

}  // namespace foretell::onnx
