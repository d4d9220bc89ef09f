#pragma once

namespace foretell::onnx {

class NodeContext;

/// Lowers DeformConv over two spatial axes.
void LowerDeformConv(NodeContext& ctx);

}  // namespace foretell::onnx
