// Products with quantized matrices, forward and backward, as the libraries run
// them:
//
//   nf4, fp4  bitsandbytes/autograd/_functions.py, MatMul4Bit: dequantize_4bit,
//             then linear (also what gemm_4bit of 0.50 does for more rows than
//             its own kernel takes); backward dequantizes again
//   int8      MatMul8bitLt there: rows of the input in 8 bits, a product of
//             integers, its conversion; backward makes a 16-bit copy of the
//             matrix. Columns with outliers depend on data and are left out
//   gptq      auto_gptq/nn_modules/triton_utils/kernels.py: one kernel that
//             reads packed words, and its transposition for backward
//   awq       awq/modules/linear/gemm.py: dequantizes, then multiplies
//   fp8       a cast and a multiplication by the scale, then linear

#include "src/program/quantized_product.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>

#include "src/program/private_operator.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor UnpackFourBits(const QuantizedWeight& weight) {
  at::Tensor scales = weight.scales[0];
  if (weight.spec.nested) {
    scales = CallPrivate("bitsandbytes::dequantize_blockwise", scales,
                         weight.scales[1]);
    scales.add_(weight.scales[2]);
  }
  const at::Tensor unpacked = CallPrivate(
      "bitsandbytes::dequantize_4bit", weight.packed, scales, weight.shape,
      weight.spec.from_half ? at::kHalf : weight.type);
  return InType(unpacked, weight.type);
}

/// W [out, in] in the compute type.
at::Tensor Unpack(const QuantizedWeight& weight) {
  switch (weight.spec.format) {
    case QuantFormat::kAwq:
      return CallPrivate("awq::dequantize", weight.packed, weight.scales[0],
                         weight.scales[1], weight.shape, weight.type);
    case QuantFormat::kInt8:
    case QuantFormat::kFp8: {
      at::Tensor unpacked = weight.packed.to(weight.type);
      return unpacked.mul_(weight.scales[0].unsqueeze(-1));
    }
    default:
      return UnpackFourBits(weight);
  }
}

using Bias = std::optional<at::Tensor>;

at::Tensor WithBias(at::Tensor product, const Bias& bias) {
  return bias ? product.add_(InType(*bias, product.scalar_type())) : product;
}

at::Tensor EightBitProduct(const at::Tensor& input,
                           const QuantizedWeight& weight, const Bias& bias) {
  const at::Tensor rows =
      InType(input, at::kHalf).reshape({-1, input.size(-1)});
  const torch::jit::Stack codes =
      CallAllPrivate("bitsandbytes::int8_vectorwise_quant", rows);
  const at::Tensor sums = CallPrivate("bitsandbytes::int8_linear_matmul",
                                      codes[0].toTensor(), weight.packed);
  std::vector<std::int64_t> shape = input.sizes().vec();
  shape.back() = weight.shape[0];
  return WithBias(CallPrivate("bitsandbytes::int8_mm_dequant", sums,
                              codes[1].toTensor(), weight.scales[0],
                              input.scalar_type()),
                  bias)
      .view(shape);
}

at::Tensor Forward(const at::Tensor& input, const QuantizedWeight& weight,
                   bool by_rows, const Bias& bias) {
  if (weight.spec.format == QuantFormat::kGptq) {
    return WithBias(
        CallPrivate("gptq::quant_matmul", input, weight.packed,
                    weight.scales[0], weight.scales[1], weight.scales[2],
                    by_rows ? weight.shape[0] : weight.shape[1]),
        bias);
  }
  if (weight.spec.format == QuantFormat::kInt8 && by_rows) {
    return EightBitProduct(input, weight, bias);
  }
  const Bias added =
      bias ? Bias(InType(*bias, input.scalar_type())) : std::nullopt;
  if (by_rows) return at::linear(input, Unpack(weight), added);
  return WithBias(at::matmul(input, Unpack(weight)), bias);
}

at::Tensor GradientOfInput(const at::Tensor& gradient,
                           const QuantizedWeight& weight, bool by_rows) {
  if (weight.spec.format == QuantFormat::kGptq) {
    return CallPrivate("gptq::quant_matmul", gradient, weight.packed,
                       weight.scales[0], weight.scales[1], weight.scales[2],
                       by_rows ? weight.shape[1] : weight.shape[0]);
  }
  const at::Tensor unpacked = Unpack(weight);
  return at::matmul(gradient, by_rows ? unpacked : unpacked.t());
}

/// Whether the layer keeps its input although its weight has no gradient.
bool KeepsInput(const QuantizeSpec& spec) {
  return spec.keeps_input || spec.format == QuantFormat::kInt8;
}

struct QuantizedProduct : torch::autograd::Function<QuantizedProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const Bias& bias, const QuantizedWeight* weight,
                            bool by_rows) {
    context->saved_data["weight"] =
        reinterpret_cast<std::int64_t>(weight);  // Outlives the step.
    context->saved_data["by_rows"] = by_rows;
    context->saved_data["has_bias"] = bias.has_value();
    if (KeepsInput(weight->spec)) context->save_for_backward({input});
    // MatMul4Bit keeps it as an attribute, which backward passes do not free.
    if (weight->holds_input) context->saved_data["input"] = input;
    return Forward(input, *weight, by_rows, bias);
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto* const weight = reinterpret_cast<const QuantizedWeight*>(
        context->saved_data["weight"].toInt());
    const bool by_rows = context->saved_data["by_rows"].toBool();
    const at::Tensor gradient = gradients.front();
    variable_list results(4);
    // Edges are those of the tensors that were given.
    if (context->saved_data["has_bias"].toBool() &&
        context->needs_input_grad(1)) {
      results[1] = gradient.reshape({-1, gradient.size(-1)}).sum(0);
    }
    if (context->needs_input_grad(0)) {
      results[0] =
          GradientOfInput(InType(gradient, weight->type), *weight, by_rows);
    }
    return results;
  }
};

}  // namespace

at::Tensor ProductWithQuantized(const at::Tensor& input,
                                const QuantizedWeight& weight,
                                MatrixOrder order,
                                const std::optional<at::Tensor>& bias) {
  return InType(QuantizedProduct::apply(InType(input, weight.type), bias,
                                        &weight, order.by_rows),
                input.scalar_type());
}

}  // namespace foretell
