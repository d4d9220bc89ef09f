#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace foretell {

/// Kernels of fused attention that a ring can run.
enum class RingKernelKind : std::uint8_t { kFlash, kEfficient, kCpuFlash };

/// One fused kernel, on the queries of this GPU and keys and values of any.
struct RingKernel {
  RingKernelKind kind = RingKernelKind::kFlash;
  double dropout_p = 0;
  std::optional<double> scale = std::nullopt;

  struct Result {
    at::Tensor out;
    at::Tensor log_sum_exp;             ///< [batch, heads, tokens].
    std::vector<at::Tensor> rest = {};  ///< Random state: seed, offset.
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
