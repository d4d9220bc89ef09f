#include "src/program/mxfp8_linear.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/add.h>
#include <torch/csrc/autograd/custom_function.h>

#include "src/core/failure.h"
#include "src/program/meta/mx.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

using torch::autograd::AutogradContext;
using Tensors = torch::autograd::variable_list;
using meta::kMxBlock;

/// Values of 8 bits by rows, and the scale of each block of a row.
struct MxOperand {
  at::Tensor bits;
  at::Tensor scale;
};

torch::jit::Stack LaunchMx(const char* name, torch::jit::Stack operands) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&operands);
  return operands;
}

/// x [rows, columns] in blocks along its rows; `transposes`: along its columns,
/// which then are the rows of the result.
MxOperand CastMx(const at::Tensor& x, bool transposes) {
  const torch::jit::Stack results =
      LaunchMx("torchao::mxfp8_quantize", {x, !transposes, transposes});
  return {results[0].toTensor(), results[1].toTensor()};
}

/// to_blocked: scales in the order that cuBLAS wants.
at::Tensor Blocked(const at::Tensor& scale) {
  return LaunchMx("torchao::triton_mx_block_rearrange", {scale})
      .front()
      .toTensor();
}

/// left [m, k] times right [n, k], transposed (_addmm_mx_dispatch).
at::Tensor MultiplyMx(const MxOperand& left, const MxOperand& right) {
  const at::Tensor left_scale = Blocked(left.scale);
  const at::Tensor right_scale = Blocked(right.scale);
  return at::_scaled_mm(left.bits, right.bits.t(), left_scale, right_scale, {},
                        {}, at::kBFloat16);
}

at::Tensor MxRowsOf(const at::Tensor& x) {
  return x.reshape({-1, x.size(-1)}).contiguous();
}

/// mx_mm. What Python names lives until it returns.
struct Mxfp8Function : torch::autograd::Function<Mxfp8Function> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight) {
    context->save_for_backward({input, weight});
    const MxOperand left = CastMx(MxRowsOf(input), false);
    const MxOperand right = CastMx(weight.contiguous(), false);
    std::vector<std::int64_t> sizes = input.sizes().vec();
    sizes.back() = weight.size(0);
    return MultiplyMx(left, right).reshape(sizes);
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    const at::Tensor gradient = MxRowsOf(gradients[0].contiguous());
    const at::Tensor input = MxRowsOf(saved[0]);
    const MxOperand by_rows = CastMx(gradient, false);
    const MxOperand weight = CastMx(saved[1].contiguous(), true);
    const at::Tensor of_input = MultiplyMx(by_rows, weight);
    const MxOperand by_columns = CastMx(gradient, true);
    const MxOperand columns = CastMx(input, true);
    const at::Tensor of_weight = MultiplyMx(by_columns, columns);
    return {of_input.reshape(saved[0].sizes()), of_weight};
  }
};

}  // namespace

bool IsMxfp8Layer(const at::Tensor& weight) {
  return weight.dim() == 2 && weight.size(0) % kMxBlock == 0 &&
         weight.size(1) % kMxBlock == 0;
}

at::Tensor Mxfp8Linear(const at::Tensor& input, const at::Tensor& weight,
                       const at::Tensor& bias) {
  if (input.scalar_type() != at::kBFloat16 ||
      weight.scalar_type() != at::kBFloat16) {
    throw InvalidArgument("kernels 'mxfp8' cast bf16, found {} times {}",
                          c10::toString(input.scalar_type()),
                          c10::toString(weight.scalar_type()));
  }
  const std::int64_t rows = input.numel() / weight.size(1);
  if (rows % kMxBlock != 0) {
    throw InvalidArgument(
        "kernels 'mxfp8': {} tokens are no blocks of {}, which have a scale "
        "each",
        rows, kMxBlock);
  }
  const at::Tensor result = Mxfp8Function::apply(input, weight);
  return bias.defined() ? at::add(result, InType(bias, result.scalar_type()))
                        : result;
}

}  // namespace foretell
