#include <utility>

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

/// Emits the kernels of one convolution. Bytes are of one image and one group.
class Unfolding {
 public:
  Unfolding(Expansion& expansion, const ExpandedNode& expanded)
      : expansion_(expansion),
        expanded_(expanded),
        convolution_(*ConvolutionOf(expansion.graph, expanded.node)),
        columns_(ColumnsOf(convolution_)),
        parts_(convolution_.images * convolution_.groups),
        channels_in_(convolution_.channels_in / convolution_.groups),
        channels_out_(convolution_.channels_out / convolution_.groups) {}

  void Forward(bool adds_bias) {
    constexpr ProductPass kPass = ProductPass::kForward;
    EmitShares(InputBytes());
    if (convolution_.transposed) {
      EmitScatter(kPass, InputBytes(), OutputBytes());
      if (adds_bias) EmitBias();
    } else {
      if (adds_bias) {
        EmitBias();
      } else {
        EmitFill(convolution_.images * OutputBytes(), convolution_.groups);
      }
      EmitUnfolding(InputBytes(), ColumnBytes());
      EmitGather(kPass, OutputBytes(), /*adds=*/true);
    }
    EmitJoin(parts_ * OutputBytes());
  }

  void Gradients() {
    const WantedGradients wanted = WantedGradientsOf(expanded_.node);
    EmitShares(OutputBytes());
    EmitShares(InputBytes());
    if (wanted.input) EmitInputGradient();
    if (wanted.weight) EmitWeightGradient();
    if (wanted.bias && expanded_.node.outputs.size() > 2) EmitBiasGradient();
    if (wanted.input) EmitJoin(parts_ * InputBytes());
    if (wanted.weight) EmitJoin(convolution_.groups * WeightBytes());
  }

 private:
  std::int64_t ColumnBytes() const { return kWidth * columns_.Elements(); }
  std::int64_t InputBytes() const {
    return kWidth * channels_in_ * convolution_.positions_in;
  }
  std::int64_t OutputBytes() const {
    return kWidth * channels_out_ * convolution_.positions_out;
  }
  std::int64_t WeightBytes() const {
    return kWidth * channels_in_ * channels_out_ * convolution_.Taps();
  }
  /// Of the side that has no columns of its own.
  std::int64_t OtherChannels() const {
    return convolution_.transposed ? channels_in_ : channels_out_;
  }

  /// Emits `kernel` of 16-bit elements, unless it runs 0 times.
  void Emit(Kernel kernel) {
    kernel.node = expanded_.id;
    kernel.element_bytes_in = kWidth;
    kernel.element_bytes_out = kWidth;
    if (kernel.count > 0) expansion_.kernels.push_back(kernel);
  }

  void EmitFill(std::int64_t bytes, std::int64_t count) {
    Emit({.kernel_class = KernelClass::kFill,
          .count = count,
          .bytes_out = bytes});
  }

  /// Between an image and its columns, one way or the other.
  void EmitUnfolding(std::int64_t bytes_in, std::int64_t bytes_out) {
    Emit({.kernel_class = KernelClass::kHiddenCopy,
          .count = parts_,
          .bytes_in = bytes_in,
          .bytes_out = bytes_out,
          .inner_extent = columns_.positions,
          .mixed_layouts = true});
  }

  /// `product` has m, n and k, and what it reads, of the weight, and writes.
  void EmitProduct(ProductPass pass, Kernel product) {
    product.kernel_class = KernelClass::kLinear;
    product.count = parts_;
    product.batch = 1;
    product.macs = product.m * product.n * product.k;
    product.pass = pass;
    product.arithmetic = ProductPrecision(expansion_, expanded_);
    Emit(product);
  }

  /// Columns that are there, times the weight, added to the image `bytes_out`
  /// where `adds`.
  void EmitGather(ProductPass pass, std::int64_t bytes_out, bool adds) {
    EmitProduct(pass, {.bytes_in = ColumnBytes() + (adds ? bytes_out : 0),
                       .bytes_weight = WeightBytes(),
                       .bytes_out = bytes_out,
                       .m = columns_.positions,
                       .n = OtherChannels(),
                       .k = columns_.rows});
  }

  /// The image `bytes_in` times the weight, folded into the image `bytes_out`.
  void EmitScatter(ProductPass pass, std::int64_t bytes_in,
                   std::int64_t bytes_out) {
    EmitProduct(pass, {.bytes_in = bytes_in,
                       .bytes_weight = WeightBytes(),
                       .bytes_out = ColumnBytes(),
                       .m = columns_.positions,
                       .n = columns_.rows,
                       .k = OtherChannels()});
    EmitUnfolding(ColumnBytes(), bytes_out);
  }

  /// Copies of the groups' shares of the batch `bytes`; one image's lie
  /// together.
  void EmitShares(std::int64_t bytes) {
    if (convolution_.groups == 1 || convolution_.images == 1) return;
    Emit({.kernel_class = KernelClass::kHiddenCopy,
          .count = convolution_.groups,
          .bytes_in = convolution_.images * bytes,
          .bytes_out = convolution_.images * bytes,
          .mixed_layouts = true});
  }

  void EmitJoin(std::int64_t bytes) {
    if (convolution_.groups == 1) return;
    Emit({.kernel_class = KernelClass::kConcat,
          .bytes_in = bytes,
          .bytes_out = bytes});
  }

  void EmitBias() {
    if (!convolution_.transposed) {
      return Emit({.kernel_class = KernelClass::kFill,
                   .count = parts_ * channels_out_,
                   .bytes_weight = kWidth,
                   .bytes_out = kWidth * convolution_.positions_out});
    }
    Emit({.kernel_class = KernelClass::kAdd,
          .count = parts_,
          .bytes_in = OutputBytes(),
          .bytes_weight = kWidth * channels_out_,
          .bytes_out = OutputBytes(),
          .variant = true});
  }

  void EmitBiasGradient() {
    const bool transposed = convolution_.transposed;
    const std::int64_t bytes = kWidth * channels_out_;
    if (!transposed) EmitFill(bytes, convolution_.groups);
    Emit({.kernel_class = KernelClass::kReduce,
          .count = transposed ? convolution_.groups : parts_,
          .bytes_in = OutputBytes() * (transposed ? convolution_.images : 1),
          .bytes_out = bytes});
    if (transposed) return;
    Emit({.kernel_class = KernelClass::kAdd,
          .count = parts_,
          .bytes_in = 2 * bytes,
          .bytes_out = bytes});
  }

  void EmitInputGradient() {
    constexpr ProductPass kPass = ProductPass::kInputGradient;
    if (convolution_.transposed) {
      EmitUnfolding(OutputBytes(), ColumnBytes());
      EmitGather(kPass, InputBytes(), /*adds=*/false);
    } else {
      EmitScatter(kPass, OutputBytes(), InputBytes());
    }
  }

  void EmitWeightGradient() {
    std::int64_t unfolded = InputBytes(), other = OutputBytes();
    if (convolution_.transposed) std::swap(unfolded, other);
    EmitFill(WeightBytes(), convolution_.groups);
    EmitUnfolding(unfolded, ColumnBytes());
    EmitProduct(ProductPass::kWeightGradient,
                {.bytes_in = ColumnBytes() + other + WeightBytes(),
                 .bytes_out = WeightBytes(),
                 .m = columns_.rows,
                 .n = OtherChannels(),
                 .k = columns_.positions});
  }

  Expansion& expansion_;
  const ExpandedNode& expanded_;
  const foretell::Convolution convolution_;
  const Columns columns_;
  const std::int64_t parts_;  ///< Images times groups.
  const std::int64_t channels_in_;
  const std::int64_t channels_out_;
};

}  // namespace

void ExpandUnfolded(Expansion& expansion, const ExpandedNode& expanded,
                    bool adds_bias) {
  Unfolding(expansion, expanded).Forward(adds_bias);
}

void ExpandUnfoldedGradients(Expansion& expansion,
                             const ExpandedNode& expanded) {
  Unfolding(expansion, expanded).Gradients();
}

}  // namespace foretell::cost
