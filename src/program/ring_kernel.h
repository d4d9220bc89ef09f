#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace foretell {

/// Kernels of fused attention that a ring can run.
enum class RingKernelKind : std::uint8_t { kFlash, kEfficient, kCpuFlash };

/// One fused kernel of scaled_dot_product_attention, on the queries of this GPU
/// and the keys and values of any: all [batch, heads, tokens, size].
struct RingKernel {
  RingKernelKind kind = RingKernelKind::kFlash;
  double dropout_p = 0;
  double scale = 1;  ///< Of the products of queries and keys.

  struct Result {
    at::Tensor out;
    at::Tensor log_sum_exp;             ///< [batch, heads, tokens].
    std::vector<at::Tensor> rest = {};  ///< Seed and offset; none on CPUs.
  };
  struct Operands {
    at::Tensor query;
    at::Tensor key;
    at::Tensor value;
  };
  /// Of `operands`, from the gradient of the result.
  struct Gradients {
    at::Tensor query;
    at::Tensor key;
    at::Tensor value;
  };

  Result Run(const Operands& operands, bool is_causal) const;
  Gradients RunBackward(const at::Tensor& gradient, const Operands& operands,
                        const Result& result, bool is_causal) const;
};

}  // namespace foretell
