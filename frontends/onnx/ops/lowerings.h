#pragma once

/// Lowerings in files of their own, for the tables of their families.
namespace foretell::onnx {

class NodeContext;

/// Lowers DeformConv over two spatial axes.
void LowerDeformConv(NodeContext& ctx);

/// LinearAttention of ai.onnx 27.
void LowerLinearAttention(NodeContext& ctx);

/// Lowers Pad of every version and mode.
void LowerPad(NodeContext& ctx);

/// Lowers Resize of every version and mode.
void LowerResize(NodeContext& ctx);
/// Lowers Upsample: Resize with asymmetric coordinates.
void LowerUpsample(NodeContext& ctx);

/// Pooling over regions of interest whose corners are data.
void LowerRoiAlign(NodeContext& ctx);
void LowerMaxRoiPool(NodeContext& ctx);

/// Views of parts of a tensor.
void LowerSlice(NodeContext& ctx);
void LowerSplit(NodeContext& ctx);

}  // namespace foretell::onnx
