#pragma once

#include "frontends/onnx/node_context.h"

namespace foretell::onnx {

/// LinearAttention of ai.onnx 27.
void LowerLinearAttention(NodeContext& ctx);

}  // namespace foretell::onnx
