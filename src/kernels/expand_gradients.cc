#include <cstddef>

#include "src/graph/convolution.h"
#include "src/kernels/describe_products.h"
#include "src/kernels/expansion.h"

// A convolution's backward operator: two products and a reduction, each of
// which reads two of the three tensors and writes the gradient of the third.

namespace foretell::cost {
namespace {

/// Places of the operands.
constexpr std::size_t kGradient = 0;
constexpr std::size_t kInput = 1;
constexpr std::size_t kWeight = 2;

/// A product of the gradient with `other` whose result is as large as `like`.
void EmitProduct(Expansion& expansion, const NodeContext& context,
                 ProductPass pass, std::size_t other, std::size_t like) {
  const TensorStates& tensors = expansion.tensors;
  const auto& inputs = context.node.inputs;
  const std::int64_t width = tensors.ElementBytes(inputs[kGradient]);
  const bool reads_weight = other == kWeight;
  const std::int64_t read = tensors.Bytes(inputs[other]);
  Kernel kernel = {
      .node = context.id,
      .bytes_in = tensors.Bytes(inputs[kGradient]) + (reads_weight ? 0 : read),
      .bytes_weight = reads_weight ? read : 0,
      .bytes_out = width * tensors.Elements(inputs[like]),
      .element_bytes_in = width,
      .element_bytes_out = width,
      .arithmetic = ProductPrecision(expansion, context),
      .channels_last = tensors.IsChannelsLast(inputs[kInput])};
  DescribeConvolutionGradient(expansion, context, pass, kernel);
  expansion.kernels.push_back(kernel);
}

void EmitBiasGradient(Expansion& expansion, const NodeContext& context) {
  const TensorStates& tensors = expansion.tensors;
  const ValueId gradient = context.node.inputs[kGradient];
  const std::int64_t width = tensors.ElementBytes(gradient);
  expansion.kernels.push_back({.kernel_class = KernelClass::kReduce,
                               .node = context.id,
                               .bytes_in = tensors.Bytes(gradient),
                               .element_bytes_in = width,
                               .element_bytes_out = width});
}

}  // namespace

bool IsConvolutionGradient(const Node& node) {
  return node.kind == OpKind::kConvolutionBackward &&
         node.inputs.size() > kWeight;
}

void ExpandConvolutionGradients(Expansion& expansion,
                                const NodeContext& context) {
  const WantedGradients wanted = WantedGradientsOf(context.node);
  if (wanted.input) {
    EmitProduct(expansion, context, ProductPass::kInputGradient, kWeight,
                kInput);
  }
  if (wanted.weight) {
    EmitProduct(expansion, context, ProductPass::kWeightGradient, kInput,
                kWeight);
  }
  if (wanted.bias && context.node.outputs.size() > 2) {
    EmitBiasGradient(expansion, context);
  }
}

}  // namespace foretell::cost
