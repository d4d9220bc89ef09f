#pragma once

#include <ATen/core/Tensor.h>

#include "frontends/onnx/node_context.h"

namespace foretell::onnx {

/// Weights of an LSTM that are not inputs of its node as they are: [D, 4 · H,
/// input size] and [D, 4 · H, H], gates in ONNX's order.
struct LstmWeights {
  at::Tensor input;
  at::Tensor recurrent;
};

/// Lowers an LSTM node with these weights instead of inputs 1 and 2; its other
/// inputs up to 7, its attributes and its outputs are those of LSTM.
void LowerLstmWith(NodeContext& ctx, const LstmWeights& weights);

}  // namespace foretell::onnx
