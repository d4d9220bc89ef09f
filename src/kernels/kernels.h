#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "foretell/graph.h"
#include "foretell/run.h"
#include "src/kernels/kernel_class.h"

namespace foretell::cost {

/// What a product computes: results, or the gradient of an operand of those.
enum class ProductPass : std::uint8_t {
  kForward,
  kInputGradient,
  kWeightGradient,
};

/// One kernel that a step launches. What does not apply is 0.
struct Kernel {
  KernelClass kernel_class = KernelClass::kOther;
  NodeId node = kNone;  ///< That launches it; the first after MergeEqual.
  /// Launches: more than 1 after MergeEqual, and where an operator repeats a
  /// step (recurrent layers).
  std::int64_t count = 1;

  std::int64_t bytes_in = 0;      ///< Activations, each operand once.
  std::int64_t bytes_weight = 0;  ///< Parameters and buffers.
  std::int64_t bytes_out = 0;
  std::int64_t macs = 0;

  /// `batch` products of [m, k] by [k, n]; of a convolution the implicit
  /// product per group, of attention queries, keys and head size.
  std::int64_t batch = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  std::int64_t window_height = 0;  ///< Rows of the window.
  std::int64_t window_width = 0;
  std::int64_t taps = 0;    ///< Elements of the window of a convolution.
  std::int64_t stride = 0;  ///< Along the last dimension.
  /// Of a convolution: product of the strides along all dimensions.
  std::int64_t stride_elements = 0;
  std::int64_t positions = 0;  ///< Results per image and channel.
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
  std::int64_t groups = 0;
  /// What a kernel along rows goes over: sums, norms, softmaxes and scans of
  /// `row_elements` each, `row_step` elements apart. Of a pooling, the threads
  /// that it launches and the elements of a window, and where it is adaptive
  /// `row_step` blocks that have a result; of a loop, the elements
  /// that it computes and those that each of them takes.
  std::int64_t rows = 0;
  std::int64_t row_elements = 0;
  std::int64_t row_step = 0;
  ElementLoop loop = ElementLoop::kNone;  ///< Of `rows` elements.
  /// What one thread of an interpolation does one after the other, forward
  /// (element_loops.cc) and backward (gradient_loops.cc); 0 of other kernels.
  std::int64_t serial_steps = 0;

  std::int64_t element_bytes_in = 0;
  std::int64_t element_bytes_out = 0;
  ProductPass pass = ProductPass::kForward;  ///< What a convolution computes.
  /// Launches that the kernel represents: a sort, a transform or an update of
  /// many tensors is several of much the same kind.
  std::int64_t launches = 1;

  /// Elements that lie or are worked on side by side: the last dimension, the
  /// positions of a norm by channels, the elements that reduce to one. Of a
  /// product of matrices the distance between their rows that the least power
  /// of two divides; 0 where none is a matrix.
  std::int64_t inner_extent = 0;

  /// Type that products are computed in.
  Precision arithmetic = Precision::kFp32;
  bool channels_last = false;  ///< Works on channels-last images.
  /// Operands differ in layout, or have gaps.
  bool mixed_layouts = false;
  /// Elements that are next to each other in the result are apart in an
  /// operand: a transposition.
  bool transposes = false;
  /// Attention: with a mask. Reduction: over the last dimension. Element-wise:
  /// an operand is broadcast. Batch norm: with the statistics of the batch.
  /// Scan: of two values at a time. Sort: of the largest elements alone.
  /// Softmax: ONNX Runtime's, whose blocks have fewer threads.
  /// Pooling: of volumes or adaptive, whose blocks are 32 x 8 results.
  bool variant = false;
  bool dilated = false;   ///< A convolution whose window has gaps.
  bool repeated = false;  ///< One of many equal steps of a recurrent layer.
  bool causal = false;    ///< Attention that skips the keys after a query.
  bool float8 = false;    ///< Multiplies floats of 8 bits.
  bool float4 = false;    ///< Multiplies floats of 4 bits.
  bool int8 = false;      ///< Multiplies integers of 8 bits.
  bool sparse = false;    ///< With weights half of which are 0 (2:4).
  /// A convolution or pooling whose window has three dimensions.
  bool volume = false;
  TorchVersion torch = {};  ///< That launches it.

  std::strong_ordering operator<=>(const Kernel&) const = default;

  /// Bytes of operands, weights and results.
  std::int64_t Bytes() const { return bytes_in + bytes_weight + bytes_out; }
};

/// Kernels that the step of `graph` launches when PyTorch runs it eagerly on a
/// GPU as described by `run`, node after node. docs/kernels.md has the rules.
///
/// Views launch nothing; neither do tables of integers made from constants.
/// Casts of autocast are nodes of the graph, which was traced under it
/// (GraphInfo::autocast); how tensors lie are its strides. `run` has no say in
/// either.
///
/// Throws Error(kInvalidArgument) that names a tensor of more than 2^56
/// elements.
std::vector<Kernel> ExpandKernels(const OperatorGraph& graph, const Run& run);

/// `kernel` without its node and count: equal for kernels that do the same.
Kernel WorkOf(Kernel kernel);

/// Kernels that differ only in their node become one with the sum of their
/// counts, at the place of the first.
std::vector<Kernel> MergeEqual(const std::vector<Kernel>& kernels);

/// True when `node` is a convolution whose names show that the exporter folded
/// a batch norm into it: the legacy ONNX exporter calls both weight and bias
/// `onnx::Conv_N`, the newer one adds a bias `W_bias` to the weight `W`.
/// Only names show it; renamed files look as if there had been no norm.
bool HasFoldedNorm(const OperatorGraph& graph, const Node& node);

/// A count of a kernel as a factor of times.
constexpr double Real(std::int64_t count) { return static_cast<double>(count); }

}  // namespace foretell::cost
