#include <cstddef>

#include "src/graph/convolution.h"
#include "src/graph/unfolded_convolution.h"
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
void EmitProduct(Expansion& expansion, const ExpandedNode& expanded,
                 ProductPass pass, std::size_t other, std::size_t like) {
  const Tensors& tensors = expansion.tensors;
  const auto& inputs = expanded.node.inputs;
  const std::int64_t width = tensors.ElementBytes(inputs[kGradient]);
  const bool reads_weight = other == kWeight;
  const std::int64_t read = tensors.Bytes(inputs[other]);
  const auto convolution = ConvolutionOf(expansion.graph, expanded.node);
  Kernel kernel = {
      .node = expanded.id,
      .bytes_in = tensors.Bytes(inputs[kGradient]) + (reads_weight ? 0 : read),
      .bytes_weight = reads_weight ? read : 0,
      .bytes_out = width * tensors.Elements(inputs[like]),
      .element_bytes_in = width,
      .element_bytes_out = width,
      .arithmetic = ProductPrecision(expansion, expanded),
      .channels_last = convolution && convolution->channels_last};
  DescribeConvolutionGradient(expansion, expanded, pass, kernel);
  expansion.kernels.push_back(kernel);
}

void EmitBiasGradient(Expansion& expansion, const ExpandedNode& expanded) {
  const Tensors& tensors = expansion.tensors;
  const ValueId gradient = expanded.node.inputs[kGradient];
  const std::int64_t width = tensors.ElementBytes(gradient);
  expansion.kernels.push_back({.kernel_class = KernelClass::kReduce,
                               .node = expanded.id,
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
                                const ExpandedNode& expanded) {
  if (RunsUnfolded(expansion.graph, expanded.node, expansion.mode.torch)) {
    return ExpandUnfoldedGradients(expansion, expanded);
  }
  const WantedGradients wanted = WantedGradientsOf(expanded.node);
  if (wanted.input) {
    EmitProduct(expansion, expanded, ProductPass::kInputGradient, kWeight,
                kInput);
  }
  if (wanted.weight) {
    EmitProduct(expansion, expanded, ProductPass::kWeightGradient, kInput,
                kWeight);
  }
  if (wanted.bias && expanded.node.outputs.size() > 2) {
    EmitBiasGradient(expansion, expanded);
  }
}

}  // namespace foretell::cost
