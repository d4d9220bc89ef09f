#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "src/program/quantized_weights.h"

namespace foretell {

/// How a product reads its matrix.
struct MatrixOrder {
  bool by_rows = true;  ///< As [out, in]; false: as [in, out].
};

/// input · Wᵀ (W [out, in]) or input · W, plus `bias` if there is one, in the
/// type of `input`, recorded as the format's library computes it: the input is
/// cast to the weight's compute type; unless the format has a kernel that reads
/// packed weights, W is unpacked for this product and freed after it, and once
/// more in the backward pass.
at::Tensor ProductWithQuantized(const at::Tensor& input,
                                const QuantizedWeight& weight,
                                MatrixOrder order,
                                const std::optional<at::Tensor>& bias);

}  // namespace foretell
