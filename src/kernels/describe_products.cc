#include "src/kernels/describe_products.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "src/core/checked.h"
#include "src/graph/attributes.h"
#include "src/graph/convolution.h"
#include "src/graph/recurrent_layer.h"

// Every operator that multiplies, as `batch` products of [m, k] by [k, n].
//
//   convolution   batch = groups, m = images * positions,
//                 n = filters per group, k = inputs per group * window
//   linear        m = rows, n = features out, k = features in
//   matmul        as written; a batch times one matrix has the batch as rows
//   attention     batch = images * heads, m = queries, n = keys, k = head size
//   recurrent     batch = weight matrices, m = tokens, the first one's n and k

namespace foretell::cost {
namespace {

/// Square windows that cuDNN's depthwise kernels for f16 support.
constexpr std::int64_t kDepthwiseWindows[] = {1, 3, 5};

bool AreAll(const Shape& extents, std::int64_t value) {
  return std::ranges::count(extents, value) == std::ssize(extents);
}

/// Whether cuDNN is fast at an image with a stride of 2, as PyTorch's table has
/// it: by images, channels and width.
bool IsFastWithStride(const Kernel& kernel, std::int64_t images) {
  const std::int64_t width = kernel.inner_extent;
  if (images == 1) return kernel.window_width > 1 || width <= 28;
  if (kernel.window_width == 1) {
    return images <= 16 && kernel.channels_in >= 128 && width <= 7;
  }
  return kernel.channels_in >= 512 ||
         (kernel.channels_in >= 256 && width >= 28);
}

/// PyTorch leaves depthwise convolutions to cuDNN in the channels-last format,
/// and in f16 where it knows cuDNN to be fast (use_cudnn_depthwise in
/// aten/src/ATen/native/Convolution.cpp, since 1.9); else it uses a kernel of
/// its own.
bool IsNativeDepthwise(const Kernel& kernel, const Convolution& convolution) {
  constexpr std::int64_t kLeastChannels = 32, kLeastWidth = 7;
  if (kernel.channels_last) return false;
  const bool is_half = kernel.arithmetic == Precision::kFp16 &&
                       kernel.element_bytes_in == kHalfBytes;
  if (!is_half || kernel.channels_in < kLeastChannels ||
      !AreAll(convolution.dilation, 1)) {
    return true;
  }
  const bool is_row = convolution.window.size() == 1;
  if (is_row && kernel.stride == 1) return false;
  const bool is_known =
      convolution.window.size() == 2 &&
      AreAll(convolution.window, kernel.window_width) &&
      AreAll(convolution.stride, kernel.stride) &&
      std::ranges::count(kDepthwiseWindows, kernel.window_width) > 0;
  if (!is_known || kernel.inner_extent < kLeastWidth) return true;
  if (kernel.stride == 1) return false;
  return kernel.stride != 2 || !IsFastWithStride(kernel, convolution.images);
}

KernelClass KernelClassOf(const Kernel& kernel,
                          const Convolution& convolution) {
  if (convolution.transposed) return KernelClass::kTransposedConvolution;
  if (convolution.IsDepthwise()) {
    return IsNativeDepthwise(kernel, convolution)
               ? KernelClass::kNativeDepthwise
               : KernelClass::kDepthwiseConvolution;
  }
  if (kernel.groups > 1) return KernelClass::kGroupedConvolution;
  if (kernel.channels_in <= kMostStemChannels) {
    return KernelClass::kStemConvolution;
  }
  return convolution.Taps() == 1 ? KernelClass::kPointwiseConvolution
                                 : KernelClass::kDenseConvolution;
}

/// All that the passes of a convolution have in common.
void SetConvolution(const Convolution& convolution, Kernel& kernel) {
  const Shape& window = convolution.window;
  kernel.window_height = window.empty() ? 1 : window.front();
  kernel.window_width = window.empty() ? 1 : window.back();
  kernel.taps = convolution.Taps();
  kernel.volume = window.size() == 3;
  kernel.dilated = !AreAll(convolution.dilation, 1);
  kernel.stride = convolution.stride.empty() ? 1 : convolution.stride.back();
  kernel.stride_elements = NumElements(convolution.stride);
  kernel.groups = convolution.groups;
  kernel.channels_in = convolution.channels_in;
  kernel.channels_out = convolution.channels_out;
  kernel.positions = convolution.positions_out;
  kernel.inner_extent = LastOf(convolution.input->shape);
  kernel.batch = convolution.groups;
  kernel.kernel_class = KernelClassOf(kernel, convolution);
  if (IsDepthwise(kernel.kernel_class)) kernel.arithmetic = Precision::kFp32;
}

/// The query is at `first` of the inputs, the key after it.
void SetAttention(const Expansion& expansion, const Node& node,
                  std::size_t first, Kernel& kernel) {
  if (node.inputs.size() < first + 3) return;
  const Shape& query = expansion.tensors.ShapeOf(node.inputs[first]);
  const Shape& key = expansion.tensors.ShapeOf(node.inputs[first + 1]);
  if (query.size() < 2 || key.size() < 2) return;
  kernel.batch = ProductBefore(query, 2);
  kernel.m = query[query.size() - 2];
  kernel.n = key[key.size() - 2];
  kernel.k = query.back();
  kernel.causal = FlagOf(node, "is_causal");
}

/// Elements between two rows of a matrix whose rows, or columns, lie side by
/// side; 0 for a vector, whose elements may be at any distance.
std::int64_t LeadingExtent(const Tensors& tensors, ValueId id) {
  const Shape& shape = tensors.ShapeOf(id);
  const std::size_t last = shape.size() - 1;
  if (shape.size() < 2 || shape[last] == 1 || shape[last - 1] == 1) return 0;
  const Strides strides = tensors.StridesOf(id);
  return std::max(strides[last], strides[last - 1]);
}

/// The leading extent of the operands and the result that the least power of
/// two divides: their rows can be loaded in no larger pieces.
std::int64_t LeastAlignedExtent(const Expansion& expansion,
                                const ExpandedNode& expanded) {
  const auto alignment = [](std::int64_t extent) {
    return static_cast<std::uint64_t>(extent & -extent) - 1;  // 0 comes last.
  };
  std::int64_t least = LeadingExtent(expansion.tensors, expanded.result());
  for (const ValueId id : expanded.operands) {
    const std::int64_t extent = LeadingExtent(expansion.tensors, id);
    if (alignment(extent) < alignment(least)) least = extent;
  }
  return least;
}

/// Layers whose calls no trace has seen, at a kernel for each step of each: two
/// matrices of a layer in one direction, of which every step reads both.
void DescribeSteps(std::int64_t steps, Kernel& kernel) {
  const std::int64_t layers = std::max<std::int64_t>(kernel.batch / 2, 1);
  kernel.count = CheckedMul(steps, layers).value_or(steps);
  kernel.repeated = true;
  kernel.m /= steps;
  kernel.batch = std::min<std::int64_t>(kernel.batch, 2);
  kernel.bytes_weight /= layers;
  for (std::int64_t* all :
       {&kernel.macs, &kernel.bytes_in, &kernel.bytes_out}) {
    *all /= kernel.count;
  }
}

bool FirstIs(DType dtype, const Expansion& expansion,
             const ExpandedNode& expanded) {
  return !expanded.operands.empty() &&
         expansion.graph.value(expanded.operands.front()).type.dtype == dtype;
}

}  // namespace

bool MultipliesFloat8(const Expansion& expansion,
                      const ExpandedNode& expanded) {
  return FirstIs(DType::kF8, expansion, expanded);
}

bool MultipliesFloat4(const Expansion& expansion,
                      const ExpandedNode& expanded) {
  return expanded.node.target == "transformer_engine::gemm" &&
         FirstIs(DType::kU8, expansion, expanded);
}

void DescribeEngineProduct(const Expansion& expansion,
                           const ExpandedNode& expanded, Kernel& kernel) {
  const RuntimeSpec& runtime = expansion.graph.info().runtime;
  if (runtime.runtime != Runtime::kTensorRt) return;
  bool is_float32 = false;
  for (const ValueId id : expanded.operands) {
    const TensorType& type = expansion.graph.value(id).type;
    const bool is_weight = expansion.tensors.IsWeight(id);
    kernel.int8 |= !is_weight && type.dtype == DType::kI8;
    kernel.sparse |= runtime.sparse && is_weight && type.shape.size() > 1;
    is_float32 |= type.dtype == DType::kF32;
  }
  // BuilderFlag::kTF32, which is set by default.
  if (kernel.arithmetic == Precision::kFp32 && is_float32) {
    kernel.arithmetic = Precision::kTf32;
  }
}

Precision ProductPrecision(const Expansion& expansion,
                           const ExpandedNode& expanded) {
  // Rates of 4 bits are multiples of that of BF16 (PeakFlopsPerUs).
  if (MultipliesFloat4(expansion, expanded)) return Precision::kBf16;
  const OpKind kind = expanded.node.kind;
  for (const ValueId id : expanded.operands) {
    const DType dtype = expansion.graph.value(id).type.dtype;
    if (dtype == DType::kF16) return Precision::kFp16;
    if (dtype == DType::kBF16) return Precision::kBf16;
    if (dtype == DType::kF64) return Precision::kFp32;
    // Numbers of 8 bits, at the rate of 16 bits: a lower bound. The cost of
    // floats knows better (PeakFlopsPerUs).
    if (dtype == DType::kI8 || dtype == DType::kF8) return Precision::kFp16;
    if (IsFloatingPoint(dtype)) break;
  }
  const bool prefers_tf32 = IsConvolution(kind) || kind == OpKind::kAttention ||
                            kind == OpKind::kAttentionBackward;
  const bool asked = expansion.graph.info().precision == Precision::kTf32;
  // cuDNN multiplies in TF32 (torch.backends.cudnn.allow_tf32).
  const bool is_cudnns = IsRecurrentLayer(expansion.graph.node(expanded.id));
  // So does ONNX Runtime, in cuBLAS too (use_tf32, which is set by default;
  // CUBLAS_TF32_TENSOR_OP_MATH in its fpgeneric.h).
  const bool is_in_ort =
      expansion.graph.info().runtime.runtime == Runtime::kOnnxRuntime;
  return prefers_tf32 || is_cudnns || is_in_ort || asked ? Precision::kTf32
                                                         : Precision::kFp32;
}

void DescribeConvolution(const Expansion& expansion,
                         const ExpandedNode& expanded, Kernel& kernel) {
  const std::optional<Convolution> convolution =
      ConvolutionOf(expansion.graph, expanded.node);
  if (!convolution || convolution->output->shape.size() < 3) return;
  SetConvolution(*convolution, kernel);
  kernel.m = convolution->images * convolution->positions_out;
  kernel.n = kernel.channels_out / kernel.groups;
  kernel.k = kernel.channels_in / kernel.groups * kernel.taps;
  // The stride of a transposed one leaves each result a part of the window.
  if (!convolution->transposed) return;
  kernel.k =
      std::max<std::int64_t>(1, kernel.k / NumElements(convolution->stride));
}

void DescribeConvolutionGradient(const Expansion& expansion,
                                 const ExpandedNode& expanded, ProductPass pass,
                                 Kernel& kernel) {
  const std::optional<Convolution> convolution =
      ConvolutionOf(expansion.graph, expanded.node);
  kernel.pass = pass;
  if (!convolution) return;
  kernel.macs = convolution->PassMacs();
  SetConvolution(*convolution, kernel);
  const std::int64_t in = kernel.channels_in / kernel.groups;
  const std::int64_t out = kernel.channels_out / kernel.groups;
  if (pass == ProductPass::kInputGradient) {
    kernel.m = convolution->images * convolution->positions_in;
    kernel.n = in;
  } else {
    kernel.m = out;
    kernel.n = in * convolution->Taps();
  }
  kernel.k = Ratio(kernel.macs, kernel.batch * kernel.m * kernel.n);
}

void DescribeLinear(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel) {
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  const std::int64_t elements = NumElements(result);
  kernel.kernel_class = KernelClass::kLinear;
  kernel.batch = 1;
  kernel.n = LastOf(result);
  kernel.m = Ratio(elements, kernel.n);
  kernel.k = Ratio(kernel.macs, elements);
  kernel.inner_extent = LeastAlignedExtent(expansion, expanded);
}

void DescribeMatmul(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel) {
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  const ValueId right = expanded.node.inputs.back();
  const bool one_matrix = expansion.tensors.IsWeight(right) ||
                          expansion.tensors.ShapeOf(right).size() <= 2;
  if (one_matrix) return DescribeLinear(expansion, expanded, kernel);
  const bool on_lanes = kernel.arithmetic == Precision::kFp32;
  kernel.kernel_class =
      on_lanes ? KernelClass::kFloatMatmul : KernelClass::kMatmul;
  kernel.n = LastOf(result);
  kernel.m = result.size() > 1 ? result[result.size() - 2] : 1;
  kernel.batch = ProductBefore(result, 2);
  kernel.k = Ratio(kernel.macs, NumElements(result));
  kernel.inner_extent = LeastAlignedExtent(expansion, expanded);
}

void DescribeAttention(const Expansion& expansion, const ExpandedNode& expanded,
                       Kernel& kernel) {
  kernel.kernel_class = KernelClass::kAttention;
  SetAttention(expansion, expanded.node, 0, kernel);
  kernel.variant = expanded.node.inputs.size() > 3;
}

void DescribeAttentionBackward(const Expansion& expansion,
                               const ExpandedNode& expanded, Kernel& kernel) {
  SetAttention(expansion, expanded.node, 1, kernel);
}

void DescribeRecurrent(const Expansion& expansion, const ExpandedNode& expanded,
                       Kernel& kernel) {
  kernel.kernel_class = KernelClass::kLinear;
  const Shape& input = expansion.tensors.ShapeOf(expanded.node.inputs.front());
  kernel.m = ProductBefore(input, 1);
  std::int64_t rows = input.size() > 2 ? input[1] : 0;  // Of a step.
  bool has_state = false;
  for (const ValueId id : expanded.node.inputs) {
    const Shape& shape = expansion.tensors.ShapeOf(id);
    const bool is_state = shape.size() == 3 && id != expanded.node.inputs[0];
    if (is_state && !std::exchange(has_state, true)) rows = shape[1];
    if (!expansion.tensors.IsWeight(id) || shape.size() != 2) continue;
    if (kernel.batch++ > 0) continue;
    kernel.n = shape[0];
    kernel.k = shape[1];
  }
  const std::int64_t steps = Ratio(kernel.m, rows);
  if (steps == 0) return;
  if (has_state) return DescribeSteps(steps, kernel);
  kernel.rows = 1;
  kernel.row_elements = steps;
}

}  // namespace foretell::cost
