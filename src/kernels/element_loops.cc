#include "src/kernels/element_loops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

// Operators of which PyTorch has a thread per element that computes its own
// addresses (aten/src/ATen/native/cuda; the file in each comment).

namespace foretell::cost {
namespace {

using Count = std::int64_t (*)(const Expansion&, const ExpandedNode&);

std::int64_t One(const Expansion&, const ExpandedNode&) { return 1; }

std::int64_t Results(const Expansion& expansion, const ExpandedNode& expanded) {
  return NumElements(expansion.tensors.ShapeOf(expanded.result()));
}

const Shape& ShapeOfInput(const Expansion& expansion,
                          const ExpandedNode& expanded, std::size_t place) {
  static const Shape kNothing = {0};
  const std::vector<ValueId>& inputs = expanded.node.inputs;
  return place < inputs.size() ? expansion.tensors.ShapeOf(inputs[place])
                               : kNothing;
}

/// Elements of a padding that come from the input.
std::int64_t Copied(const Expansion& expansion, const ExpandedNode& expanded) {
  return std::min(Results(expansion, expanded),
                  NumElements(ShapeOfInput(expansion, expanded, 0)));
}

std::int64_t Window(const Expansion&, const ExpandedNode& expanded) {
  return std::max<std::int64_t>(
      1, NumElements(expanded.node.Ints("kernel_size", {1})));
}

std::int64_t Channels(const Expansion& expansion,
                      const ExpandedNode& expanded) {
  const Shape& shape = ShapeOfInput(expansion, expanded, 0);
  return shape.size() < 2 ? 1 : std::max<std::int64_t>(1, shape[1]);
}

/// Results of one channel.
std::int64_t Places(const Expansion& expansion, const ExpandedNode& expanded) {
  return Results(expansion, expanded) / Channels(expansion, expanded);
}

/// Elements of the operand that is added, the last input.
std::int64_t Added(const Expansion& expansion, const ExpandedNode& expanded) {
  return NumElements(
      ShapeOfInput(expansion, expanded, expanded.node.inputs.size() - 1));
}

/// Elements of all rows that an embedding bag sums: indices times row.
std::int64_t Bagged(const Expansion& expansion, const ExpandedNode& expanded) {
  return NumElements({NumElements(ShapeOfInput(expansion, expanded, 1)),
                      LastOf(ShapeOfInput(expansion, expanded, 0))});
}

struct LoopRow {
  std::string_view target;
  ElementLoop loop;
  Count rows = &Results;
  Count row_elements = &One;
};

// clang-format off
constexpr auto kLoopRows = std::to_array<LoopRow>({
    {"flip",                  ElementLoop::kIndexed},  // IndexKernel.cu
    {"tril",                  ElementLoop::kIndexed},  // TriangularOps.cu
    {"triu",                  ElementLoop::kIndexed},
    {"pixel_shuffle",         ElementLoop::kShuffled},  // A copy by strides.
    {"pixel_unshuffle",       ElementLoop::kShuffled},
    {"channel_shuffle",       ElementLoop::kShuffled},
    {"glu",                   ElementLoop::kShuffled},  // Two halves of a row.
    {"upsample_nearest1d",    ElementLoop::kNearest},  // UpSampleNearest2d.cu
    {"upsample_nearest2d",    ElementLoop::kNearest},
    {"_upsample_nearest_exact1d", ElementLoop::kNearest},
    {"_upsample_nearest_exact2d", ElementLoop::kNearest},
    {"upsample_nearest3d",    ElementLoop::kAddressed},  // UpSampleNearest3d.cu
    {"_upsample_nearest_exact3d", ElementLoop::kAddressed},
    {"roll",                  ElementLoop::kAddressed},  // TensorTransformations.cu
    {"constant_pad_nd",       ElementLoop::kShuffled, &Copied},  // PadNd.cpp
    {"pad",                   ElementLoop::kReflected},
    {"reflection_pad1d",      ElementLoop::kReflected},  // ReflectionPad.cu
    {"reflection_pad2d",      ElementLoop::kReflected},
    {"reflection_pad3d",      ElementLoop::kReflected},
    {"replication_pad1d",     ElementLoop::kReflected},  // ReplicationPadding.cu
    {"replication_pad2d",     ElementLoop::kReflected},
    {"replication_pad3d",     ElementLoop::kReflected},
    {"im2col",                ElementLoop::kAddressed},  // im2col.cuh
    {"col2im",                ElementLoop::kFolded, &Results, &Window},
    {"grid_sampler",          ElementLoop::kSampled, &Places, &Channels},
    {"grid_sampler_2d",       ElementLoop::kSampled, &Places, &Channels},
    {"grid_sampler_3d",       ElementLoop::kSampled, &Places, &Channels},
    {"gather",                ElementLoop::kGathered},  // ScatterGatherKernel.cu
    {"index_add",             ElementLoop::kAtomic, &Added},  // Indexing.cu
    {"embedding_bag",         ElementLoop::kBagged, &Bagged},  // EmbeddingBag.cu
    {"_embedding_bag",        ElementLoop::kBagged, &Bagged},
    {"_embedding_bag_forward_only", ElementLoop::kBagged, &Bagged},
    {"liger::rms_norm_backward", ElementLoop::kRowByRow},  // ops/rms_norm.py
});
// clang-format on

/// Losses that read, or write, of each row the element of its class, and a
/// sector of memory for it. One block of threads goes over all rows.
struct PickingLoss {
  std::string_view target;
  std::size_t classes;  ///< Place of the classes among the inputs.
};

constexpr PickingLoss kPickingLosses[] = {
    {"nll_loss", 1}, {"nll_loss_forward", 1}, {"nll_loss_backward", 2}};
constexpr std::int64_t kSectorBytes = 32;

/// Threads of the block (nll_loss_threads in Loss.cu; pull request 149779).
std::int64_t PickingThreads(std::int64_t rows, const TorchVersion& torch) {
  constexpr TorchVersion kChoosesThreads = {.major = 2, .minor = 8};
  constexpr std::int64_t kLeast = 32, kMost = 1024;
  constexpr double kRowsOfAThread = 16;
  if (torch < kChoosesThreads) return kLeast;
  const double wanted = std::max(1.0, Real(rows) / kRowsOfAThread);
  return std::clamp(std::int64_t{1} << std::lround(std::log2(wanted)), kLeast,
                    kMost);
}

void SetPicking(const Expansion& expansion, const ExpandedNode& expanded,
                std::size_t classes, Kernel& kernel) {
  const std::int64_t rows =
      NumElements(ShapeOfInput(expansion, expanded, classes));
  kernel.bytes_in =
      std::min(kernel.bytes_in, NumElements({rows, kSectorBytes}));
  if (expanded.node.Int("reduction", 1) == 0) return;
  const std::int64_t threads = PickingThreads(rows, expansion.mode.torch);
  kernel.loop = ElementLoop::kPicked;
  kernel.inner_extent = LastOf(ShapeOfInput(expansion, expanded, classes - 1));
  kernel.rows = threads;
  kernel.row_elements = (rows + threads - 1) / threads;
}

/// Interpolations of which a thread per position of the result goes over the
/// batch times the channels of a contiguous image
/// (aten/src/ATen/native/cuda/UpSampleBilinear2d.cu and its like); those of
/// "nearest" and of channels-last images have a thread per element. Of 16
/// elements a thread takes twice as long as of four, of eight in three
/// dimensions three times (kinds.jsonl.gz).
struct Interpolation {
  std::string_view target;
  std::int64_t steps;  ///< Of a thread, for an image's channel.
};

constexpr Interpolation kInterpolations[] = {{"upsample_linear1d", 1},
                                             {"upsample_bilinear2d", 1},
                                             {"upsample_bicubic2d", 2},
                                             {"upsample_trilinear3d", 3}};

void SetSerialSteps(const Shape& result, std::string_view target,
                    Kernel& kernel) {
  const auto* const row =
      std::ranges::find(kInterpolations, target, &Interpolation::target);
  if (row == std::end(kInterpolations)) return;
  if (kernel.channels_last || result.size() < 2) return;
  kernel.serial_steps = result[0] * result[1] * row->steps;
}

}  // namespace

void SetElementLoop(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel) {
  const std::string_view target = expanded.node.target;
  SetSerialSteps(expansion.tensors.ShapeOf(expanded.result()), target, kernel);
  const auto* const loss =
      std::ranges::find(kPickingLosses, target, &PickingLoss::target);
  if (loss != std::end(kPickingLosses)) {
    return SetPicking(expansion, expanded, loss->classes, kernel);
  }
  // Copies into the middle of what was filled.
  const std::string_view name =
      PadsWithConstant(expanded.node) ? "constant_pad_nd" : target;
  const auto* const row = std::ranges::find(kLoopRows, name, &LoopRow::target);
  if (row == kLoopRows.end()) return;
  kernel.loop = row->loop;
  kernel.rows = row->rows(expansion, expanded);
  kernel.row_elements = row->row_elements(expansion, expanded);
  if (target == "im2col") {  // One launch for each image.
    const Shape& images = ShapeOfInput(expansion, expanded, 0);
    kernel.launches =
        images.empty() ? 1 : std::max<std::int64_t>(1, images.front());
  }
  if (row->loop == ElementLoop::kBagged) {
    kernel.bytes_weight = NumElements({kernel.rows, kernel.element_bytes_in});
  }
}

}  // namespace foretell::cost
