#pragma once

#include <cstdint>
#include <optional>

#include "foretell/graph.h"
#include "src/graph/operands.h"

namespace foretell {

/// The tensors and sizes of a convolution in any operator: one forward, one
/// transposed, or the backward operator of either. The only code that knows the
/// positions of their operands.
struct Convolution {
  const TensorType* input = nullptr;   ///< Input images [n, c, …].
  const TensorType* weight = nullptr;  ///< [out, in / groups, …]; transposed:
                                       ///< [in, out / groups, …].
  const TensorType* output = nullptr;  ///< Result, or the gradient of it.
  bool transposed = false;
  bool backward = false;
  /// cuDNN computes it in the channels-last format: images of two or three
  /// dimensions or their weight are in it, and their numbers have no 64 bits
  /// (cudnn_conv_suggest_memory_format in aten/src/ATen/native/ConvUtils.h).
  bool channels_last = false;

  std::int64_t images = 1;
  std::int64_t groups = 1;
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
  std::int64_t positions_in = 1;   ///< Elements per image and channel.
  std::int64_t positions_out = 1;  ///< The same of the output.
  Shape window;                    ///< Extents; empty for a weight without.
  Shape stride;                    ///< As the operator gives them.
  Shape dilation;                  ///< The same.

  /// Elements of the window.
  std::int64_t Taps() const;
  /// One input channel per group, and several groups.
  bool IsDepthwise() const { return groups > 1 && channels_in == groups; }
  /// Multiply-accumulates of one pass: the result, or the gradient of an
  /// operand. Throws Error(kInvalidArgument) beyond int64.
  std::int64_t PassMacs() const;
};

/// Channels of the images that a network sees: a dense convolution of as many
/// is its stem, for which cuDNN has kernels of its own.
inline constexpr std::int64_t kMostStemChannels = 4;

/// True for plain and transposed convolutions.
constexpr bool IsForwardConvolution(OpKind kind) {
  return kind == OpKind::kConvolution || kind == OpKind::kTransposedConvolution;
}

/// True for these and their backward operators.
constexpr bool IsConvolution(OpKind kind) {
  return IsForwardConvolution(kind) || kind == OpKind::kConvolutionBackward;
}

/// The convolution that `node` computes; empty for nodes of other kinds, and
/// for a weight of fewer than two dimensions.
///
/// Throws Error(kInvalidArgument) for a convolution with a missing operand or
/// result, mismatched ranks, or images, windows and weights with more elements
/// than a tensor may have, so that products of its sizes fit int64.
/// GraphBuilder calls it, so nodes of a graph do not throw. Points into
/// `graph`.
std::optional<Convolution> ConvolutionOf(const OperatorGraph& graph,
                                         const Node& node);

/// Gradients requested from a backward operator: of the input, the weight and
/// the bias; all of them without an `output_mask`.
struct WantedGradients {
  bool input = true;
  bool weight = true;
  bool bias = true;
};
WantedGradients WantedGradientsOf(const Node& node);

}  // namespace foretell
