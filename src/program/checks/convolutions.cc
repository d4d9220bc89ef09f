// Convolutions: check_shape_forward and check_input_same_type_as_parameters
// (Convolution.cpp).
#include <algorithm>
#include <array>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

void RequireOneConvolvedType(const at::Tensor& input, const at::Tensor& weight,
                             const at::Tensor& bias) {
  if (input.scalar_type() != weight.scalar_type()) {
    throw InvalidArgument(
        "convolves elements of type {} with weights of type {}, which must be "
        "the same",
        TypeText(input), TypeText(weight));
  }
  RequireTypeOf(bias, "a bias", input, "an input");
}

void CheckConvolution(const Call& call, bool transposed) {
  const at::Tensor& input = call.FirstTensor();
  const at::Tensor& weight = call.Tensor("weight");
  const at::Tensor bias = call.TensorOrUndefined("bias");
  if (weight.dim() < 3) return;
  const auto rank = static_cast<std::size_t>(weight.dim() - 2);
  // A padding may be a word.
  if (call.IsList("padding")) RequireAll(call, "padding", rank, 0);
  RequireAll(call, "dilation", rank, 1);
  RequireAll(call, "stride", rank, 1);
  RequireOneConvolvedType(input, weight, bias);
  if (!bias.defined()) return;
  const std::int64_t filters =
      transposed ? weight.size(1) * call.Int("groups", 1) : weight.size(0);
  if (bias.dim() == 1 && bias.size(0) == filters) return;
  throw InvalidArgument(
      "has a bias of shape {}, its weight of shape {} needs [{}]",
      Text(bias.sizes()), Text(weight.sizes()), filters);
}

void CheckForward(const Call& call) { CheckConvolution(call, false); }

void CheckTransposed(const Call& call) {
  CheckConvolution(call, true);
  const at::Tensor& weight = call.Tensor("weight");
  if (weight.dim() < 3) return;
  const auto rank = static_cast<std::size_t>(weight.dim() - 2);
  RequireAll(call, "output_padding", rank, 0);
  const Sizes added = call.Ints("output_padding", rank, 0);
  const Sizes strides = call.Ints("stride", rank, 1);
  const Sizes dilations = call.Ints("dilation", rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    if (added[i] < std::max(strides[i], dilations[i])) continue;
    throw InvalidArgument(
        "has output_padding {}, which is not below its stride {} or dilation "
        "{}",
        added[i], strides[i], dilations[i]);
  }
}

/// These only accept batches: conv2d makes one of a single image before.
void CheckEither(const Call& call) {
  const at::Tensor& input = call.FirstTensor();
  const at::Tensor& weight = call.Tensor("weight");
  if (weight.dim() >= 3 && input.dim() != weight.dim()) {
    throw InvalidArgument(
        "has an input of shape {}, its weight of shape {} needs {} dimensions",
        Text(input.sizes()), Text(weight.sizes()), weight.dim());
  }
  CheckConvolution(call, call.Bool("transposed", false));
}

constexpr std::array kConvolutionRows = std::to_array<OperandRow>({
    {"_convolution", &CheckEither},
    {"conv1d", &CheckForward},
    {"conv2d", &CheckForward},
    {"conv3d", &CheckForward},
    {"conv_transpose1d", &CheckTransposed},
    {"conv_transpose2d", &CheckTransposed},
    {"conv_transpose3d", &CheckTransposed},
    {"convolution", &CheckEither},
});

}  // namespace

std::span<const OperandRow> ConvolutionRows() { return kConvolutionRows; }

}  // namespace foretell::checks
