#include <algorithm>
#include <cstddef>
#include <optional>

#include "src/graph/convolution.h"
#include "src/graph/unfolded_convolution.h"
#include "src/kernels/describe_products.h"
#include "src/kernels/expansion.h"

// Convolutions that PyTorch runs without cuDNN, image by image:
//
//   result         bias into every channel, or zeros; columns of the image;
//                  product with the weight, added to the result
//   input's        product of the gradient with the weight; columns folded
//   weight's       zeros; columns of the image; product with the gradient,
//                  added
//   bias'          zeros; sum, addition
//
// A transposed convolution is the gradient of an input: it folds where the
// other unfolds. Its bias is a product with ones, its bias' gradient one sum.
//
// Groups run one after the other on copies of their share of the images, and
// their results are concatenated. So they do in slow_conv_dilated3d and
// slow_conv_transpose3d (aten/src/ATen/native/cuda/NaiveDilatedConvolution.cu,
// NaiveConvolutionTranspose3d.cu, ../Convolution.cpp).

namespace foretell::cost {
namespace {

constexpr std::int64_t kWidth = kHalfBytes;

/// Bytes of one image and one group, and how often there are such.
struct Unfolded {
  Unfolded(const ExpandedNode& expanded,
           const foretell::Convolution& convolution_in, Precision arithmetic_in)
      : convolution(convolution_in),
        columns(ColumnsOf(convolution_in)),
        node(expanded.id),
        arithmetic(arithmetic_in),
        parts(convolution.images * convolution.groups),
        channels_in(convolution.channels_in / convolution.groups),
        channels_out(convolution.channels_out / convolution.groups) {}

  std::int64_t ColumnBytes() const { return kWidth * columns.Elements(); }
  std::int64_t InputBytes() const {
    return kWidth * channels_in * convolution.positions_in;
  }
  std::int64_t OutputBytes() const {
    return kWidth * channels_out * convolution.positions_out;
  }
  std::int64_t WeightBytes() const {
    return kWidth * channels_in * channels_out * convolution.Taps();
  }
  /// Of the side that has no columns of its own.
  std::int64_t OtherChannels() const {
    return convolution.transposed ? channels_in : channels_out;
  }

  const foretell::Convolution& convolution;
  Columns columns;
  NodeId node;
  Precision arithmetic;
  std::int64_t parts;
  std::int64_t channels_in;
  std::int64_t channels_out;
};

/// A kernel of 16-bit elements that runs `count` times.
Kernel MoverOf(const Unfolded& unfolded, KernelClass kernel_class,
               std::int64_t count) {
  return {.kernel_class = kernel_class,
          .node = unfolded.node,
          .count = count,
          .element_bytes_in = kWidth,
          .element_bytes_out = kWidth};
}

void Emit(Expansion& expansion, const Kernel& kernel) {
  if (kernel.count > 0) expansion.kernels.push_back(kernel);
}

void EmitFill(Expansion& expansion, const Unfolded& unfolded,
              std::int64_t bytes, std::int64_t count) {
  Kernel fill = MoverOf(unfolded, KernelClass::kFill, count);
  fill.bytes_out = bytes;
  Emit(expansion, fill);
}

/// Between an image and its columns, one way or the other.
void EmitUnfolding(Expansion& expansion, const Unfolded& unfolded,
                   std::int64_t bytes_in, std::int64_t bytes_out) {
  Kernel copy = MoverOf(unfolded, KernelClass::kHiddenCopy, unfolded.parts);
  copy.bytes_in = bytes_in;
  copy.bytes_out = bytes_out;
  copy.inner_extent = unfolded.columns.positions;
  copy.mixed_layouts = true;
  Emit(expansion, copy);
}

/// `extents` has m, n and k; `bytes` what it reads, of the weight, and writes.
void EmitProduct(Expansion& expansion, const Unfolded& unfolded,
                 ProductPass pass, const Kernel& extents) {
  Kernel product = extents;
  product.kernel_class = KernelClass::kLinear;
  product.node = unfolded.node;
  product.count = unfolded.parts;
  product.batch = 1;
  product.macs = extents.m * extents.n * extents.k;
  product.element_bytes_in = kWidth;
  product.element_bytes_out = kWidth;
  product.pass = pass;
  product.arithmetic = unfolded.arithmetic;
  Emit(expansion, product);
}

/// Columns that are there, times the weight, added to the image `bytes_out`
/// where `adds`.
void EmitGather(Expansion& expansion, const Unfolded& unfolded,
                ProductPass pass, std::int64_t bytes_out, bool adds) {
  EmitProduct(expansion, unfolded, pass,
              {.bytes_in = unfolded.ColumnBytes() + (adds ? bytes_out : 0),
               .bytes_weight = unfolded.WeightBytes(),
               .bytes_out = bytes_out,
               .m = unfolded.columns.positions,
               .n = unfolded.OtherChannels(),
               .k = unfolded.columns.rows});
}

/// The image `bytes_in` times the weight, folded into the image `bytes_out`.
void EmitScatter(Expansion& expansion, const Unfolded& unfolded,
                 ProductPass pass, std::int64_t bytes_in,
                 std::int64_t bytes_out) {
  EmitProduct(expansion, unfolded, pass,
              {.bytes_in = bytes_in,
               .bytes_weight = unfolded.WeightBytes(),
               .bytes_out = unfolded.ColumnBytes(),
               .m = unfolded.columns.positions,
               .n = unfolded.columns.rows,
               .k = unfolded.OtherChannels()});
  EmitUnfolding(expansion, unfolded, unfolded.ColumnBytes(), bytes_out);
}

/// Copies of the groups' shares of the batch `bytes`; one image's lie together.
void EmitShares(Expansion& expansion, const Unfolded& unfolded,
                std::int64_t bytes) {
  const foretell::Convolution& convolution = unfolded.convolution;
  if (convolution.groups == 1 || convolution.images == 1) return;
  Kernel copy = MoverOf(unfolded, KernelClass::kHiddenCopy, convolution.groups);
  copy.bytes_in = convolution.images * bytes;
  copy.bytes_out = convolution.images * bytes;
  copy.mixed_layouts = true;
  Emit(expansion, copy);
}

void EmitJoin(Expansion& expansion, const Unfolded& unfolded,
              std::int64_t bytes) {
  if (unfolded.convolution.groups == 1) return;
  Kernel join = MoverOf(unfolded, KernelClass::kConcat, 1);
  join.bytes_in = bytes;
  join.bytes_out = bytes;
  Emit(expansion, join);
}

void EmitBias(Expansion& expansion, const Unfolded& unfolded) {
  if (!unfolded.convolution.transposed) {
    Kernel fill = MoverOf(unfolded, KernelClass::kFill,
                          unfolded.parts * unfolded.channels_out);
    fill.bytes_weight = kWidth;
    fill.bytes_out = kWidth * unfolded.convolution.positions_out;
    return Emit(expansion, fill);
  }
  Kernel addition = MoverOf(unfolded, KernelClass::kAdd, unfolded.parts);
  addition.bytes_in = unfolded.OutputBytes();
  addition.bytes_weight = kWidth * unfolded.channels_out;
  addition.bytes_out = unfolded.OutputBytes();
  addition.variant = true;
  Emit(expansion, addition);
}

void EmitBiasGradient(Expansion& expansion, const Unfolded& unfolded) {
  const foretell::Convolution& convolution = unfolded.convolution;
  const std::int64_t bytes = kWidth * unfolded.channels_out;
  const std::int64_t sums =
      convolution.transposed ? convolution.groups : unfolded.parts;
  if (!convolution.transposed) {
    EmitFill(expansion, unfolded, bytes, convolution.groups);
  }
  Kernel sum = MoverOf(unfolded, KernelClass::kReduce, sums);
  sum.bytes_in =
      unfolded.OutputBytes() * unfolded.parts / std::max<std::int64_t>(1, sums);
  sum.bytes_out = bytes;
  Emit(expansion, sum);
  if (convolution.transposed) return;
  Kernel addition = MoverOf(unfolded, KernelClass::kAdd, sums);
  addition.bytes_in = 2 * bytes;
  addition.bytes_out = bytes;
  Emit(expansion, addition);
}

void EmitInputGradient(Expansion& expansion, const Unfolded& unfolded) {
  constexpr ProductPass kPass = ProductPass::kInputGradient;
  if (unfolded.convolution.transposed) {
    EmitUnfolding(expansion, unfolded, unfolded.OutputBytes(),
                  unfolded.ColumnBytes());
    EmitGather(expansion, unfolded, kPass, unfolded.InputBytes(), false);
  } else {
    EmitScatter(expansion, unfolded, kPass, unfolded.OutputBytes(),
                unfolded.InputBytes());
  }
}

void EmitWeightGradient(Expansion& expansion, const Unfolded& unfolded) {
  const bool transposed = unfolded.convolution.transposed;
  const std::int64_t input = unfolded.InputBytes();
  const std::int64_t output = unfolded.OutputBytes();
  EmitFill(expansion, unfolded, unfolded.WeightBytes(),
           unfolded.convolution.groups);
  EmitUnfolding(expansion, unfolded, transposed ? output : input,
                unfolded.ColumnBytes());
  EmitProduct(
      expansion, unfolded, ProductPass::kWeightGradient,
      {.bytes_in = unfolded.ColumnBytes() + (transposed ? input : output) +
                   unfolded.WeightBytes(),
       .bytes_out = unfolded.WeightBytes(),
       .m = unfolded.columns.rows,
       .n = unfolded.OtherChannels(),
       .k = unfolded.columns.positions});
}

}  // namespace

bool IsUnfolded(const Expansion& expansion, const ExpandedNode& expanded) {
  if (!IsConvolution(expanded.node.kind)) return false;
  const std::optional<foretell::Convolution> convolution =
      ConvolutionOf(expansion.graph, expanded.node);
  const Precision arithmetic = ProductPrecision(expansion, expanded);
  const bool half =
      arithmetic == Precision::kFp16 || arithmetic == Precision::kBf16;
  return convolution && RunsUnfolded(*convolution, half, expansion.mode.torch);
}

void ExpandUnfolded(Expansion& expansion, const ExpandedNode& expanded,
                    bool adds_bias) {
  const foretell::Convolution convolution =
      *ConvolutionOf(expansion.graph, expanded.node);
  const Unfolded unfolded(expanded, convolution,
                          ProductPrecision(expansion, expanded));
  const std::int64_t output = unfolded.OutputBytes();
  EmitShares(expansion, unfolded, unfolded.InputBytes());
  if (convolution.transposed) {
    EmitScatter(expansion, unfolded, ProductPass::kForward,
                unfolded.InputBytes(), output);
    if (adds_bias) EmitBias(expansion, unfolded);
  } else {
    if (adds_bias) {
      EmitBias(expansion, unfolded);
    } else {
      EmitFill(expansion, unfolded, convolution.images * output,
               convolution.groups);
    }
    EmitUnfolding(expansion, unfolded, unfolded.InputBytes(),
                  unfolded.ColumnBytes());
    EmitGather(expansion, unfolded, ProductPass::kForward, output, true);
  }
  EmitJoin(expansion, unfolded, unfolded.parts * output);
}

void ExpandUnfoldedGradients(Expansion& expansion,
                             const ExpandedNode& expanded) {
  const foretell::Convolution convolution =
      *ConvolutionOf(expansion.graph, expanded.node);
  const Unfolded unfolded(expanded, convolution,
                          ProductPrecision(expansion, expanded));
  const WantedGradients wanted = WantedGradientsOf(expanded.node);
  EmitShares(expansion, unfolded, unfolded.OutputBytes());
  EmitShares(expansion, unfolded, unfolded.InputBytes());
  if (wanted.input) EmitInputGradient(expansion, unfolded);
  if (wanted.weight) EmitWeightGradient(expansion, unfolded);
  if (wanted.bias && expanded.node.outputs.size() > 2) {
    EmitBiasGradient(expansion, unfolded);
  }
  if (wanted.input) {
    EmitJoin(expansion, unfolded, unfolded.parts * unfolded.InputBytes());
  }
  if (wanted.weight) {
    EmitJoin(expansion, unfolded, convolution.groups * unfolded.WeightBytes());
  }
}

}  // namespace foretell::cost
