#include "src/graph/convolution.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/graph/attributes.h"
#include "src/graph/limits.h"
#include "src/graph/macs.h"
#include "src/graph/strides.h"

namespace foretell {
namespace {

/// Positions of an operator's operands.
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
  const std::int64_t inner = MulMacs(weight[1], result.groups);
  result.channels_in = result.transposed ? outer : inner;
  result.channels_out = result.transposed ? inner : outer;
  result.window.assign(weight.begin() + 2, weight.end());
}

void SetImages(Convolution& result) {
  result.images = At(result.input->shape, 0);
  result.positions_in = ProductFrom(result.input->shape, 2);
  result.positions_out = ProductFrom(result.output->shape, 2);
}

/// In the format of images or of volumes.
bool LiesChannelsLast(const Value& value) {
  return !value.strides.empty() &&
         SuggestsChannelsLast(value.type.shape, value.strides);
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

/// Images, with or without their batch, and a weight of as many dimensions.
void RequireRanks(const Convolution& convolution) {
  const std::size_t input = convolution.input->shape.size();
  const std::size_t output = convolution.output->shape.size();
  const std::size_t weight = convolution.weight->shape.size();
  const bool fits = input + 1 >= weight && input <= weight && input > 0;
  if (fits && output == input) return;
  throw InvalidArgument(
      "a weight of rank {} has an input of rank {} and a result of rank {}, "
      "expected the same or one less",
      weight, input, output);
}

/// Product of sizes of which none is 0, so that it does not hide the others.
std::int64_t ElementsOf(std::array<std::int64_t, 3> sizes) {
  for (std::int64_t& size : sizes) size = std::max<std::int64_t>(1, size);
  const std::optional<std::int64_t> product = CheckedProduct(sizes);
  if (product && *product <= kMaxElements) return *product;
  throw InvalidArgument("a convolution of [{}] has more than 2^56 elements",
                        fmt::join(sizes, ", "));
}

/// Requires that every product of sizes that a reader forms fits int64.
void RequireCountable(const Convolution& convolution) {
  const std::int64_t in = std::max(convolution.channels_in, convolution.groups);
  const std::int64_t out =
      std::max(convolution.channels_out, convolution.groups);
  const std::int64_t read =
      ElementsOf({convolution.images, in, convolution.positions_in});
  const std::int64_t written =
      ElementsOf({convolution.images, out, convolution.positions_out});
  const std::int64_t weights = ElementsOf({in, out, convolution.Taps()});
  const bool transposed = convolution.transposed;
  MulMacs(transposed ? read : written,
          weights / std::max<std::int64_t>(1, transposed ? in : out));
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
  result.channels_last =
      result.input->dtype != DType::kF64 &&
      (LiesChannelsLast(graph.value(node.inputs[places.input])) ||
       LiesChannelsLast(graph.value(node.inputs[places.weight])));
  result.transposed =
      node.kind == OpKind::kTransposedConvolution || FlagOf(node, "transposed");
  result.stride = node.Ints("stride", {1});
  result.dilation = node.Ints("dilation", {1});
  if (result.weight->shape.size() < 2) return std::nullopt;
  RequireRanks(result);
  if (node.target == "conv_tbc") {
    SetTimeBatchChannel(result);
  } else {
    SetChannels(node, result);
    SetImages(result);
  }
  RequireCountable(result);
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
