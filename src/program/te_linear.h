#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace foretell {

/// Recipes of TransformerEngine's fp8_autocast (common/recipe/__init__.py).
enum class TeRecipe : std::uint8_t {
  kDelayed,  ///< DelayedScaling: a scale per tensor, of earlier steps.
  kCurrent,  ///< Float8CurrentScaling: a scale per tensor, of its own values.
  kMxfp8,    ///< MXFP8BlockScaling: a scale of a byte per 32 values.
  /// NVFP4BlockScaling: 4 bits, a scale of a byte per 16 values, and one per
  /// tensor.
  kNvfp4,
};

/// Whether TransformerEngine can run the linear layer of `weight` [out, in] by
/// `recipe`: sizes must be multiples of 16 (assert_dim_for_fp8_exec), by
/// kMxfp8 of 32.
bool IsTeLayer(const at::Tensor& weight, TeRecipe recipe);

/// input [..., in] times weight [out, in], transposed, plus `bias` if it is
/// defined, of type `type`, as transformer_engine.pytorch.Linear runs it in
/// fp8_autocast on one GPU (2.18, pytorch/module/linear.py), called without
/// is_first_microbatch: each forward pass quantizes the weight again. The
/// backward pass keeps the quantized input by columns, and the quantized weight
/// by rows and by columns; the wide weight is the parameter.
///
/// Throws Error(kInvalidArgument) for rows of the input that are no multiple of
/// 8, by kMxfp8 of 32, by kNvfp4 of 16, and by kNvfp4 for operands that are not
/// bf16.
at::Tensor TeLinear(const at::Tensor& input, const at::Tensor& weight,
                    const at::Tensor& bias, TeRecipe recipe,
                    at::ScalarType type);

}  // namespace foretell
