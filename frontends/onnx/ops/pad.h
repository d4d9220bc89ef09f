#pragma once

namespace foretell::onnx {

class NodeContext;

/// Lowers Pad of every version and mode.
void LowerPad(NodeContext& ctx);

}  // namespace foretell::onnx
