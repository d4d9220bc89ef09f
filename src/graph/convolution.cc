#include "src/graph/convolution.h"

#include <algorithm>
#include <cstddef>

#include "src/graph/macs.h"

namespace foretell {
namespace {

/// Where the operands of an operator stand.
struct Places {
  std::size_t input = 0;
  std::size_t weight = 1;
};

std::int64_t ProductFrom(const Shape& shape, std::size_t first) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < shape.size(); ++i) {
    product = MulMacs(product, shape[i]);
  }
  return product;
}

std::int64_t At(const Shape& shape, std::size_t index) {
  return index < shape.size() ? shape[index] : 1;
}

void SetChannels(const Node& node, Convolution& result) {
  const Shape& weight = result.weight->shape;
  result.groups = std::max<std::int64_t>(1, node.Int("groups", 1));
  const std::int64_t outer = weight[0];
  const std::int64_t inner = weight[1] * result.groups;
  result.channels_in = result.transposed ? outer : inner;
  result.channels_out = result.transposed ? inner : outer;
  result.window.assign(weight.begin() + 2, weight.end());
}

void SetImages(Convolution& result) {
  result.images = At(result.input->shape, 0);
  result.positions_in = ProductFrom(result.input->shape, 2);
  result.positions_out = ProductFrom(result.output->shape, 2);
}

/// conv_tbc: [time, batch, channels] with a weight [window, in, out].
void SetTimeBatchChannel(Convolution& result) {
  const Shape& weight = result.weight->shape;
  result.channels_in = At(weight, 1);
  result.channels_out = At(weight, 2);
  result.window = {weight[0]};
  result.images = At(result.input->shape, 1);
  result.positions_in = At(result.input->shape, 0);
  result.positions_out = At(result.output->shape, 0);
}

}  // namespace

std::int64_t Convolution::Taps() const { return ProductFrom(window, 0); }

std::int64_t Convolution::PassMacs() const {
  const std::int64_t per_group =
      (transposed ? channels_out : channels_in) / groups;
  const TensorType& moved = transposed ? *input : *output;
  return MulMacs(moved.NumElements(), MulMacs(per_group, Taps()));
}

std::optional<Convolution> ConvolutionOf(const OperatorGraph& graph,
                                         const Node& node) {
  if (!IsConvolution(node.kind)) return std::nullopt;
  const bool backward = node.kind == OpKind::kConvolutionBackward;
  const Operands operands(graph, node);
  const Places places = backward ? Places{1, 2} : Places{0, 1};
  Convolution result;
  result.input = &operands.Input(places.input);
  result.weight = &operands.Input(places.weight);
  result.output = backward ? &operands.Input(0) : &operands.Output(0);
  result.backward = backward;
  result.transposed = node.kind == OpKind::kTransposedConvolution ||
                      node.Int("transposed", 0) != 0;
  result.stride = node.Ints("stride", {1});
  result.dilation = node.Ints("dilation", {1});
  if (result.weight->shape.size() < 2) return std::nullopt;
  if (node.target == "conv_tbc") {
    SetTimeBatchChannel(result);
  } else {
    SetChannels(node, result);
    SetImages(result);
  }
  return result;
}

WantedGradients WantedGradientsOf(const Node& node) {
  const Shape mask = node.Ints("output_mask", {});
  const auto wants = [&mask](std::size_t gradient) {
    return gradient >= mask.size() || mask[gradient] != 0;
  };
  return {.input = wants(0), .weight = wants(1), .bias = wants(2)};
}

}  // namespace foretell
