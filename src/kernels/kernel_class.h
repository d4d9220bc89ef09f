#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foretell::cost {

/// What a GPU kernel is, as far as its speed depends on it.
enum class KernelClass : std::uint8_t {
  kPointwiseConvolution,
  kDenseConvolution,
  kStemConvolution,
  kGroupedConvolution,
  kDepthwiseConvolution,
  kNativeDepthwise,
  kTransposedConvolution,
  kLinear,
  kMatmul,
  kFloatMatmul,
  kAttention,
  kBatchNorm,
  kFoldedBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kSoftmax,
  kRelu,
  kGelu,
  kSilu,
  kActivation,
  kAdd,
  kMultiply,
  kElementwise,
  kReduce,
  kAveragePool,
  kMaxPool,
  kCopy,
  kHiddenCopy,
  kConcat,
  kPad,
  kGather,
  kUpsample,
  kCastDown,
  kCastUp,
  kCastWeight,
  kOther,
  kAttentionBackward,
  kNormBackward,
  kPoolBackward,
  kUpsampleBackward,
  kEmbeddingBackward,
  kRecurrent,
  kSort,
  kScan,
  kFill,
  kRandom,
  kFft,
  kDetection,
  kLoss,
  kOptimizer,
};

/// How a kernel without vectors of elements goes over what it moves
/// (element_loops.cc).
enum class ElementLoop : std::uint8_t {
  kNone,
  kUnrolled,   ///< A cast from 16 bits.
  kIndexed,    ///< Reads or writes at indices that it computes.
  kShuffled,   ///< A copy between strides.
  kNearest,    ///< An image's nearest elements.
  kAddressed,  ///< Divides its index by several extents.
  kReflected,  ///< The same, and mirrors it.
  kFolded,     ///< Sums the columns that a result is in.
  kSampled,    ///< Interpolates each channel at a place.
  kGathered,   ///< Reads at given indices.
  kAtomic,     ///< Adds at given indices.
  kBagged,     ///< Sums rows at given indices.
  kRowByRow,   ///< A block per multiprocessor goes from row to row.
  kGenerated,  ///< A compiler wrote it for the operators inside.
  kPicked,     ///< A block reads an element of each row.
  // Of backward operators (gradient_loops.cc).
  kLayerNormGradient,  ///< Blocks of rows, then of columns.
  kGroupNormGradient,  ///< Blocks of channels of images, then elements.
  kBatchNormGradient,  ///< Blocks of channels.
  kSoftmaxGradient,
  kAveragePoolGradient,   ///< An element sums the windows that it is in.
  kVolumePoolGradient,    ///< A window adds to each of its elements.
  kAdaptivePoolGradient,  ///< The same.
  kMaxPoolGradient,       ///< An element asks the windows that it is in.
  kMaxVolumeGradient,     ///< A window adds to its largest element.
  kAdaptiveMaxGradient,
  kInterpolationGradient,  ///< Each adds to the elements around it.
  kCubicGradient,          ///< The same, for all channels at a place.
  kNearestGradient,        ///< An element sums those nearest to it.
  kNearestVolumeGradient,
  kPaddingGradient,   ///< Adds what was mirrored.
  kSampledGradient,   ///< Adds around a place, channel by channel.
  kAddedGradient,     ///< Adds rows at given indices.
  kEmbeddedGradient,  ///< Sorts indices, then adds rows.
  kSlicedGradient,    ///< A copy into zeros.
};

/// True for loops of backward operators.
constexpr bool IsGradientLoop(ElementLoop loop) {
  return loop > ElementLoop::kPicked;
}

/// One class: its name in files, and what belongs to it.
struct KernelClassRow {
  KernelClass kernel_class;
  std::string_view name;
  std::string_view meaning;
};

// clang-format off
inline constexpr auto kKernelClasses = std::to_array<KernelClassRow>({
    {KernelClass::kPointwiseConvolution, "conv_pointwise",
     "convolution with a window of one element"},
    {KernelClass::kDenseConvolution, "conv_dense",
     "convolution with a larger window"},
    {KernelClass::kStemConvolution, "conv_stem",
     "convolution of at most four channels"},
    {KernelClass::kGroupedConvolution, "conv_grouped",
     "convolution in groups of several channels"},
    {KernelClass::kDepthwiseConvolution, "conv_depthwise",
     "one channel per group, cuDNN's kernel"},
    {KernelClass::kNativeDepthwise, "conv_depthwise_native",
     "one channel per group, PyTorch's own kernel"},
    {KernelClass::kTransposedConvolution, "conv_transposed",
     "transposed convolution"},
    {KernelClass::kLinear, "linear",
     "product with a matrix, recurrent layer"},
    {KernelClass::kMatmul, "matmul", "product of two batches of matrices"},
    {KernelClass::kFloatMatmul, "matmul_fp32",
     "product of two batches of matrices on FP32 lanes"},
    {KernelClass::kAttention, "attention", "fused attention"},
    {KernelClass::kBatchNorm, "batch_norm", "batch norm"},
    {KernelClass::kFoldedBatchNorm, "batch_norm_folded",
     "batch norm that the exporter folded into a convolution"},
    {KernelClass::kLayerNorm, "layer_norm", "layer norm, RMS norm"},
    {KernelClass::kGroupNorm, "group_norm",
     "group norm, instance norm, local response norm"},
    {KernelClass::kSoftmax, "softmax", "softmax"},
    {KernelClass::kRelu, "relu", "ReLU, hard activation"},
    {KernelClass::kGelu, "gelu", "GELU"},
    {KernelClass::kSilu, "silu", "SiLU"},
    {KernelClass::kActivation, "activation", "any other activation"},
    {KernelClass::kAdd, "add", "addition, subtraction"},
    {KernelClass::kMultiply, "multiply", "multiplication, division"},
    {KernelClass::kElementwise, "elementwise",
     "anything else element by element"},
    {KernelClass::kReduce, "reduce", "reduction"},
    {KernelClass::kAveragePool, "average_pool", "average pooling"},
    {KernelClass::kMaxPool, "max_pool", "maximum pooling"},
    {KernelClass::kCopy, "copy", "copy that the graph shows, or a reshape "
     "that has to move data"},
    {KernelClass::kHiddenCopy, "copy_hidden",
     "copy inside an operator that needs another layout"},
    {KernelClass::kConcat, "concat", "concatenation"},
    {KernelClass::kPad, "pad", "padding"},
    {KernelClass::kGather, "gather", "lookup, scatter, embedding"},
    {KernelClass::kUpsample, "upsample", "upsampling"},
    {KernelClass::kCastDown, "cast_down",
     "activation to a narrower floating-point type"},
    {KernelClass::kCastUp, "cast_up", "activation to a wider one"},
    {KernelClass::kCastWeight, "cast_weight", "parameter to a narrower type"},
    {KernelClass::kOther, "other", "operators outside the table"},
    {KernelClass::kAttentionBackward, "attention_backward",
     "backward operator of fused attention"},
    {KernelClass::kNormBackward, "norm_backward",
     "backward operator of a norm"},
    {KernelClass::kPoolBackward, "pool_backward",
     "backward operator of pooling"},
    {KernelClass::kUpsampleBackward, "upsample_backward",
     "backward operator of upsampling"},
    {KernelClass::kEmbeddingBackward, "embedding_backward",
     "backward operator of an embedding"},
    {KernelClass::kRecurrent, "recurrent",
     "recurrent layer, one step after the other"},
    {KernelClass::kSort, "sort", "sort, top k"},
    {KernelClass::kScan, "scan", "cumulative sum and its kin"},
    {KernelClass::kFill, "fill", "constant"},
    {KernelClass::kRandom, "random", "random numbers"},
    {KernelClass::kFft, "fft", "Fourier transform"},
    {KernelClass::kDetection, "detection", "boxes: overlap, alignment"},
    {KernelClass::kLoss, "loss", "loss and its backward operator"},
    {KernelClass::kOptimizer, "optimizer", "update of many tensors"},
});
// clang-format on
inline constexpr int kNumKernelClasses =
    static_cast<int>(kKernelClasses.size());
static_assert(static_cast<int>(KernelClass::kOptimizer) + 1 ==
              kNumKernelClasses);
static_assert(std::ranges::is_sorted(kKernelClasses, {},
                                     &KernelClassRow::kernel_class));

constexpr std::string_view KernelClassName(KernelClass kernel_class) {
  return kKernelClasses[static_cast<std::size_t>(kernel_class)].name;
}

/// Whether a kernel is a fused attention or its backward pass.
constexpr bool IsAttention(KernelClass kernel_class) {
  return kernel_class == KernelClass::kAttention ||
         kernel_class == KernelClass::kAttentionBackward;
}

/// Whether a kernel is a depthwise convolution, of cuDNN or PyTorch's own.
constexpr bool IsDepthwise(KernelClass kernel_class) {
  return kernel_class == KernelClass::kDepthwiseConvolution ||
         kernel_class == KernelClass::kNativeDepthwise;
}

}  // namespace foretell::cost
