#include "src/program/ring_kernel.h"

#include <ATen/ATen.h>

namespace foretell {

RingKernel::Result RingKernel::Run(const Operands& operands,
                                   bool is_causal) const {
  const auto& [query, key, value] = operands;
  switch (kind) {
    case RingKernelKind::kFlash: {
      auto all = at::_scaled_dot_product_flash_attention(
          query, key, value, dropout_p, is_causal, /*return_debug_mask=*/false,
          scale);
      return {std::get<0>(all),
              std::get<1>(all),
              {std::get<6>(all), std::get<7>(all)}};
    }
    case RingKernelKind::kEfficient: {
      auto all = at::_scaled_dot_product_efficient_attention(
          query, key, value, std::nullopt, /*compute_log_sumexp=*/true,
          dropout_p, is_causal, scale);
      return {std::get<0>(all),
              std::get<1>(all),
              {std::get<2>(all), std::get<3>(all)}};
    }
    case RingKernelKind::kCpuFlash: {
      auto all = at::_scaled_dot_product_flash_attention_for_cpu(
          query, key, value, dropout_p, is_causal, std::nullopt, scale);
      return {std::get<0>(all), std::get<1>(all)};
    }
  }
  return {};
}

RingKernel::Gradients RingKernel::RunBackward(const at::Tensor& gradient,
                                              const Operands& operands,
                                              const Result& result,
                                              bool is_causal) const {
  const auto& [query, key, value] = operands;
  const auto gradients = [](auto&& all) -> Gradients {
    return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
  };
  switch (kind) {
    case RingKernelKind::kFlash:
      return gradients(at::_scaled_dot_product_flash_attention_backward(
          gradient, query, key, value, result.out, result.log_sum_exp, {}, {},
          query.size(2), key.size(2), dropout_p, is_causal, result.rest[0],
          result.rest[1], scale));
    case RingKernelKind::kEfficient:
      return gradients(at::_scaled_dot_product_efficient_attention_backward(
          gradient, query, key, value, {}, result.out, result.log_sum_exp,
          result.rest[0], result.rest[1], dropout_p, {true, true, true, false},
          is_causal, scale));
    case RingKernelKind::kCpuFlash:
      return gradients(at::_scaled_dot_product_flash_attention_for_cpu_backward(
          gradient, query, key, value, result.out, result.log_sum_exp,
          dropout_p, is_causal, std::nullopt, scale));
  }
  return {};
}

}  // namespace foretell
