#pragma once

namespace foretell::onnx {

class NodeContext;

/// Views of parts of a tensor.
void LowerSlice(NodeContext& ctx);
void LowerSplit(NodeContext& ctx);

}  // namespace foretell::onnx
