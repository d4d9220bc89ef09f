#include "src/kernels/gradient_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/core/checked.h"
#include "src/graph/attributes.h"
#include "src/graph/convolution.h"
#include "src/kernels/describe_pool.h"

// Backward operators whose kernels are bound by the threads that PyTorch
// launches (aten/src/ATen/native/cuda; the file in each comment, 2.11).

namespace foretell::cost {
namespace {

constexpr std::size_t kOfInput = 1;  ///< Most have the gradient before it.

const Shape& OperandShape(const Expansion& expansion,
                          const ExpandedNode& expanded, std::size_t place) {
  static const Shape kNothing = {1};
  const std::vector<ValueId>& inputs = expanded.node.inputs;
  return place < inputs.size() ? expansion.tensors.ShapeOf(inputs[place])
                               : kNothing;
}

using Count = std::int64_t (*)(const Expansion&, const ExpandedNode&);

std::int64_t Single(const Expansion&, const ExpandedNode&) { return 1; }

/// Elements of the gradient that the operator computes.
std::int64_t Computed(const Expansion& expansion,
                      const ExpandedNode& expanded) {
  return NumElements(expansion.tensors.ShapeOf(expanded.result()));
}

/// Elements of the gradient that it is given.
std::int64_t Received(const Expansion& expansion,
                      const ExpandedNode& expanded) {
  return NumElements(OperandShape(expansion, expanded, 0));
}

/// Windows of a pooling that an element of its input is in.
std::int64_t Windows(const Expansion& expansion, const ExpandedNode& expanded) {
  const Node& node = expanded.node;
  const Shape window = node.Ints("kernel_size", {1});
  const Shape given = node.Ints("stride", window);
  const Shape& stride = given.empty() ? window : given;
  const std::size_t dims =
      OperandShape(expansion, expanded, kOfInput).size() > 2 ? 2 : 1;
  std::int64_t windows = 1;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::int64_t step =
        std::max<std::int64_t>(1, stride[std::min(i, stride.size() - 1)]);
    windows *= CeilDiv(window[std::min(i, window.size() - 1)], step);
  }
  return std::max<std::int64_t>(1, windows);
}

/// Elements of the window of a pooling of volumes.
std::int64_t VolumeOfWindow(const Expansion&, const ExpandedNode& expanded) {
  const Shape window = expanded.node.Ints("kernel_size", {1});
  if (window.size() != 1) {
    return std::max<std::int64_t>(1, NumElements(window));
  }
  return NumElements({window[0], window[0], window[0]});
}

/// Threads of a block of 32 x 8 for each channel of each image.
std::int64_t BlocksOfPlanes(const Expansion& expansion,
                            const ExpandedNode& expanded) {
  constexpr std::int64_t kBlock = 256;
  const Shape& shape = OperandShape(expansion, expanded, 0);
  return NumElements({ProductBefore(shape, 2), kBlock});
}

std::int64_t ChannelsOfInput(const Expansion& expansion,
                             const ExpandedNode& expanded) {
  const Shape& shape = OperandShape(expansion, expanded, kOfInput);
  return shape.size() < 2 ? 1 : std::max<std::int64_t>(1, shape[1]);
}

/// Elements of one channel of the gradient that it is given.
std::int64_t Sampled(const Expansion& expansion, const ExpandedNode& expanded) {
  return Received(expansion, expanded) / ChannelsOfInput(expansion, expanded);
}

std::int64_t WindowOfAdaptivePool(const Expansion& expansion,
                                  const ExpandedNode& expanded) {
  const Shape& input = OperandShape(expansion, expanded, kOfInput);
  const Shape& result = OperandShape(expansion, expanded, 0);
  return AdaptiveWindow(input, result, input.size() < 2 ? 0 : input.size() - 2);
}

template <std::int64_t kTaps>
std::int64_t Taps(const Expansion&, const ExpandedNode&) {
  return kTaps;
}

/// Rows of a layer norm, and the elements of each.
std::int64_t NormRow(const Expansion&, const ExpandedNode& expanded) {
  return std::max<std::int64_t>(
      1, NumElements(expanded.node.Ints("normalized_shape", {1})));
}

std::int64_t NormRows(const Expansion& expansion,
                      const ExpandedNode& expanded) {
  return NumElements(OperandShape(expansion, expanded, kOfInput)) /
         NormRow(expansion, expanded);
}

/// Channels of all images, and the elements of each.
std::int64_t Planes(const Expansion& expansion, const ExpandedNode& expanded) {
  const Shape& shape = OperandShape(expansion, expanded, kOfInput);
  return ProductBefore(shape,
                       std::max<std::ptrdiff_t>(0, std::ssize(shape) - 2));
}

std::int64_t PlaneElements(const Expansion& expansion,
                           const ExpandedNode& expanded) {
  const Shape& shape = OperandShape(expansion, expanded, kOfInput);
  return NumElements(shape) /
         std::max<std::int64_t>(1, Planes(expansion, expanded));
}

std::int64_t ChannelElements(const Expansion& expansion,
                             const ExpandedNode& expanded) {
  return NumElements(OperandShape(expansion, expanded, kOfInput)) /
         ChannelsOfInput(expansion, expanded);
}

/// Elements of one channel of one image of the gradient that it is given.
std::int64_t PlaneReceived(const Expansion& expansion,
                           const ExpandedNode& expanded) {
  const Shape& shape = OperandShape(expansion, expanded, 0);
  const auto inner = std::max<std::ptrdiff_t>(0, std::ssize(shape) - 2);
  const std::int64_t planes = ProductBefore(shape, inner);
  return std::max<std::int64_t>(
      1, NumElements(shape) / std::max<std::int64_t>(1, planes));
}

struct GradientRow {
  std::string_view target;
  ElementLoop loop;
  Count rows = &Computed;
  Count row_elements = &Single;
  bool reads_input = false;  ///< Else it is given that for its shape alone.
};

// clang-format off
constexpr auto kGradientRows = std::to_array<GradientRow>({
    // layer_norm_kernel.cu
    {"native_layer_norm_backward", ElementLoop::kLayerNormGradient, &NormRows, &NormRow, true},
    {"_fused_rms_norm_backward", ElementLoop::kLayerNormGradient, &NormRows, &NormRow, true},
    // group_norm_kernel.cu
    {"native_group_norm_backward", ElementLoop::kGroupNormGradient, &Planes, &PlaneElements, true},
    // Normalization.cuh, or cuDNN
    {"native_batch_norm_backward", ElementLoop::kBatchNormGradient, &ChannelsOfInput, &ChannelElements, true},
    {"cudnn_batch_norm_backward", ElementLoop::kBatchNormGradient, &ChannelsOfInput, &ChannelElements, true},
    // AveragePool2d.cu, AveragePool3d.cu, AdaptiveAveragePooling.cu
    {"avg_pool2d_backward", ElementLoop::kAveragePoolGradient, &Computed, &Windows},
    {"avg_pool3d_backward", ElementLoop::kVolumePoolGradient, &Received, &VolumeOfWindow},
    {"_adaptive_avg_pool2d_backward", ElementLoop::kAdaptivePoolGradient, &Computed, &WindowOfAdaptivePool},
    {"_adaptive_avg_pool3d_backward", ElementLoop::kAdaptivePoolGradient, &Computed, &WindowOfAdaptivePool},
    // DilatedMaxPool2d.cu, DilatedMaxPool3d.cu, AdaptiveMaxPooling2d.cu
    {"max_pool2d_with_indices_backward", ElementLoop::kMaxPoolGradient, &Computed, &Windows},
    {"max_pool3d_with_indices_backward", ElementLoop::kMaxVolumeGradient, &Received},
    {"adaptive_max_pool2d_backward", ElementLoop::kAdaptiveMaxGradient, &BlocksOfPlanes},
    {"adaptive_max_pool3d_backward", ElementLoop::kAdaptiveMaxGradient, &BlocksOfPlanes},
    // UpSampleBilinear2d.cu and its like
    {"upsample_linear1d_backward", ElementLoop::kInterpolationGradient, &Received, &Taps<2>, true},
    {"upsample_bilinear2d_backward", ElementLoop::kInterpolationGradient, &Received, &Taps<4>, true},
    {"upsample_trilinear3d_backward", ElementLoop::kInterpolationGradient, &Received, &Taps<8>, true},
    {"upsample_bicubic2d_backward", ElementLoop::kCubicGradient, &Received, &Taps<16>, true},
    {"upsample_nearest1d_backward", ElementLoop::kNearestGradient, &Computed, &Single, true},
    {"upsample_nearest2d_backward", ElementLoop::kNearestGradient, &Computed, &Single, true},
    {"_upsample_nearest_exact2d_backward", ElementLoop::kNearestGradient, &Computed, &Single, true},
    {"upsample_nearest3d_backward", ElementLoop::kNearestVolumeGradient, &Computed, &Single, true},
    // ReflectionPad.cu, ReplicationPadding.cu
    {"reflection_pad1d_backward", ElementLoop::kPaddingGradient, &Received},
    {"reflection_pad2d_backward", ElementLoop::kPaddingGradient, &Received},
    {"reflection_pad3d_backward", ElementLoop::kPaddingGradient, &Received},
    {"replication_pad1d_backward", ElementLoop::kPaddingGradient, &Received},
    {"replication_pad2d_backward", ElementLoop::kPaddingGradient, &Received},
    {"replication_pad3d_backward", ElementLoop::kPaddingGradient, &Received},
    // GridSampler.cu
    {"grid_sampler_2d_backward", ElementLoop::kSampledGradient, &Sampled, &ChannelsOfInput, true},
    {"grid_sampler_3d_backward", ElementLoop::kSampledGradient, &Sampled, &ChannelsOfInput, true},
    // Indexing.cu, Embedding.cu, EmbeddingBackwardKernel.cu
    {"index_select_backward", ElementLoop::kAddedGradient, &Received, &Single, true},
    {"embedding_backward", ElementLoop::kEmbeddedGradient, &Received, &Single, true},
    {"embedding_dense_backward", ElementLoop::kEmbeddedGradient, &Received, &Single, true},
    // A copy into zeros (FunctionsManual.cpp).
    {"slice_backward", ElementLoop::kSlicedGradient, &Received, &Single, true},
    // PersistentSoftmax.cuh, SoftMax.cu
    {"_softmax_backward_data", ElementLoop::kSoftmaxGradient, nullptr, nullptr, true},
    {"_log_softmax_backward_data", ElementLoop::kSoftmaxGradient, nullptr, nullptr, true},
});
// clang-format on

/// Interpolations in which a thread for each place of the gradient that they
/// are given goes over the batch times the channels (UpSampleLinear1d.cu,
/// UpSampleTrilinear3d.cu), in steps as long as those of a forward
/// interpolation. Additions in 16 bits take longer: fitted to operators of an
/// H100 (kinds.jsonl.gz, drawn.jsonl.gz).
struct SerialRow {
  std::string_view target;
  std::int64_t steps;       ///< Of a thread, for an image's channel.
  std::int64_t half_steps;  ///< The same in 16 bits.
};
constexpr auto kSerialRows = std::to_array<SerialRow>({
    {"upsample_linear1d_backward", 1, 8},
    {"upsample_trilinear3d_backward", 2, 4},
});

void SetSerialGradient(const Expansion& expansion, const ExpandedNode& expanded,
                       Kernel& kernel) {
  const auto* const row =
      std::ranges::find(kSerialRows, expanded.node.target, &SerialRow::target);
  if (row == kSerialRows.end()) return;
  kernel.positions = PlaneReceived(expansion, expanded);
  const bool is_half = kernel.element_bytes_in == kHalfBytes;
  kernel.serial_steps = Received(expansion, expanded) / kernel.positions *
                        (is_half ? row->half_steps : row->steps);
}

void LeaveOutInput(const Expansion& expansion, const ExpandedNode& expanded,
                   Kernel& kernel) {
  if (expanded.node.inputs.size() <= kOfInput) return;
  Kernel input;
  CountRead(expansion.tensors, expanded.node.inputs[kOfInput], input);
  kernel.bytes_in = std::max<std::int64_t>(0, kernel.bytes_in - input.bytes_in);
  kernel.bytes_weight =
      std::max<std::int64_t>(0, kernel.bytes_weight - input.bytes_weight);
}

}  // namespace

void SetGradientLoop(const Expansion& expansion, const ExpandedNode& expanded,
                     Kernel& kernel) {
  const auto* const row = std::ranges::find(kGradientRows, expanded.node.target,
                                            &GradientRow::target);
  if (row == kGradientRows.end()) return;
  kernel.loop = row->loop;
  if (row->rows != nullptr) {
    kernel.rows = row->rows(expansion, expanded);
    kernel.row_elements = row->row_elements(expansion, expanded);
  }
  if (row->loop == ElementLoop::kLayerNormGradient) {
    kernel.variant = WantedGradientsOf(expanded.node).weight;
  }
  if (row->loop == ElementLoop::kAdaptivePoolGradient) {
    kernel.row_step = ProductBefore(OperandShape(expansion, expanded, 0), 2);
  }
  if (row->loop == ElementLoop::kCubicGradient) {
    kernel.row_step = PlaneReceived(expansion, expanded);
  }
  SetSerialGradient(expansion, expanded, kernel);
  if (!row->reads_input) LeaveOutInput(expansion, expanded, kernel);
}

}  // namespace foretell::cost
