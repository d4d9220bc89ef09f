#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "frontends/onnx/node_context.h"

/// Weights of few bits, which stay as the file packs them. A kernel unpacks
/// them into a temporary before their product, as AWQ's layers do (`--quantize
/// awq`), and the product is that of the plain layer.
namespace foretell::onnx {

/// Codes of a weight and what is needed to unpack them; `zeros` may be
/// undefined.
struct PackedWeight {
  at::Tensor codes;
  at::Tensor scales;
  at::Tensor zeros;
};

/// The unpacked weight, a tensor of `shape` and `type` that is written by one
/// kernel and has no gradient. `exact` computes its values, where tensors have
/// some.
at::Tensor UnpackedWeight(const PackedWeight& weight, at::IntArrayRef shape,
                          at::ScalarType type,
                          const std::function<at::Tensor()>& exact);

/// Lowerings of com.microsoft, rows in microsoft_quantized.cc.
void LowerMatMulNBits(NodeContext& ctx);
void LowerGatherBlockQuantized(NodeContext& ctx);

}  // namespace foretell::onnx
