#pragma once

namespace foretell::onnx {

class NodeContext;

/// Pooling over regions of interest whose corners are data.
void LowerRoiAlign(NodeContext& ctx);
void LowerMaxRoiPool(NodeContext& ctx);

}  // namespace foretell::onnx
