#pragma once

#include <cstdint>

#include "foretell/run.h"

namespace foretell {

/// A call of nn.MultiheadAttention's layer for inference
/// (_native_multi_head_attention), or of the same inside of an encoder layer.
struct MultiHeadCall {
  bool is_self_attention = true;  ///< One tensor is queries, keys and values.
  std::int64_t head_size = 0;
  bool need_weights = false;  ///< The caller wants the probabilities.
};

/// Whether PyTorch of `torch` uses a fused kernel for `call`, and so never
/// stores its scores (aten/src/ATen/native/transformers/cuda/attention.cu).
inline bool FusesMultiHead(TorchGeneration torch, const MultiHeadCall& call) {
  constexpr std::int64_t kHeadMultiple = 8;
  return torch != TorchGeneration::kNoFusedAttention &&
         call.is_self_attention && call.head_size % kHeadMultiple == 0 &&
         !call.need_weights;
}

}  // namespace foretell
