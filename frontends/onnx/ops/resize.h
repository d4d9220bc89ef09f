#pragma once

namespace foretell::onnx {

class NodeContext;

/// Lowers Resize of every version and mode.
void LowerResize(NodeContext& ctx);
/// Lowers Upsample: Resize with asymmetric coordinates.
void LowerUpsample(NodeContext& ctx);

}  // namespace foretell::onnx
