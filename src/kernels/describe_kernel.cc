#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "src/core/checked.h"
#include "src/kernels/describe_pool.h"
#include "src/kernels/describe_products.h"
#include "src/kernels/element_loops.h"
#include "src/kernels/expansion.h"
#include "src/kernels/gradient_loops.h"

// Which class a node's own kernel belongs to, and the sizes other than bytes
// and products that its speed depends on. One table of kinds.

namespace foretell::cost {
namespace {

void Plain(const Expansion&, const ExpandedNode&, Kernel&) {}

/// Works along the last dimension, or moves runs of it.
void Rows(const Expansion& expansion, const ExpandedNode& expanded,
          Kernel& kernel) {
  kernel.inner_extent = LastOf(expansion.tensors.ShapeOf(expanded.result()));
}

/// The dimension of `shape` that the node goes along, the last unless it states
/// one; empty if `shape` has none of that number.
std::optional<std::size_t> DimOf(const Node& node, const Shape& shape) {
  const std::int64_t dim = node.Int("dim", -1);
  const std::int64_t place = dim < 0 ? dim + std::ssize(shape) : dim;
  if (place < 0 || place >= std::ssize(shape)) return {};
  return static_cast<std::size_t>(place);
}

/// Scans that carry an index, or take an exponential and a logarithm.
constexpr std::string_view kDoubleScans[] = {"cummax", "cummin", "logcumsumexp",
                                             "_logcumsumexp"};

/// Goes along one dimension: softmaxes and scans.
void Along(const Expansion& expansion, const ExpandedNode& expanded,
           Kernel& kernel) {
  Rows(expansion, expanded, kernel);
  const Shape& shape = expansion.tensors.ShapeOf(expanded.result());
  const std::optional<std::size_t> place = DimOf(expanded.node, shape);
  if (!place) return;
  SetRows(shape, shape[*place],
          ProductBefore({shape.rbegin(), shape.rend()}, *place + 1), kernel);
  kernel.variant =
      std::ranges::count(kDoubleScans, expanded.node.target) > 0 ||
      (expanded.node.kind == OpKind::kSoftmax &&
       expansion.graph.info().runtime.runtime == Runtime::kOnnxRuntime);
}

void Sort(const Expansion& expansion, const ExpandedNode& expanded,
          Kernel& kernel) {
  const Shape& shape = expansion.tensors.ShapeOf(expanded.node.inputs.front());
  const std::optional<std::size_t> place = DimOf(expanded.node, shape);
  if (!place) return;
  SetRows(shape, shape[*place], 1, kernel);
  kernel.variant = expanded.node.target == "topk";
}

/// Normalises the last dimensions.
void LastNorm(const Expansion& expansion, const ExpandedNode& expanded,
              Kernel& kernel) {
  Rows(expansion, expanded, kernel);
  const Shape extents = expanded.node.Ints("normalized_shape", {});
  if (!extents.empty()) kernel.inner_extent = NumElements(extents);
  SetRows(expansion.tensors.ShapeOf(expanded.result()), kernel.inner_extent, 1,
          kernel);
}

void ChannelNorm(const Expansion& expansion, const ExpandedNode& expanded,
                 Kernel& kernel) {
  const Shape& shape = expansion.tensors.ShapeOf(expanded.result());
  kernel.inner_extent = PositionsOf(shape);
  kernel.channels_in = shape.size() > 1 ? shape[1] : 1;
}

/// One mean for each channel of the batch.
void BatchNorm(const Expansion& expansion, const ExpandedNode& expanded,
               Kernel& kernel) {
  ChannelNorm(expansion, expanded, kernel);
  const Shape& shape = expansion.tensors.ShapeOf(expanded.result());
  SetRows(shape, Ratio(NumElements(shape), kernel.channels_in), 1, kernel);
}

/// One mean for each group of channels of each image; those of an instance norm
/// are of one channel.
void GroupNorm(const Expansion& expansion, const ExpandedNode& expanded,
               Kernel& kernel) {
  ChannelNorm(expansion, expanded, kernel);
  const Shape& shape = expansion.tensors.ShapeOf(expanded.result());
  const Node& node = expanded.node;
  const std::int64_t groups =
      node.Int("num_groups", node.Int("group", kernel.channels_in));
  SetRows(shape, Ratio(kernel.channels_in * kernel.inner_extent, groups), 1,
          kernel);
}

/// Broadcasts an operand with dimensions that is smaller than the result.
void Broadcasting(const Expansion& expansion, const ExpandedNode& expanded,
                  Kernel& kernel) {
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  kernel.inner_extent = LastOf(result);
  kernel.variant = std::ranges::any_of(expanded.operands, [&](ValueId id) {
    const Shape& shape = expansion.tensors.ShapeOf(id);
    return !shape.empty() && NumElements(shape) < NumElements(result);
  });
}

void Reduction(const Expansion& expansion, const ExpandedNode& expanded,
               Kernel& kernel) {
  const Shape& input = expansion.tensors.ShapeOf(expanded.node.inputs.front());
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  kernel.inner_extent =
      NumElements(input) / std::max<std::int64_t>(1, NumElements(result));
  const Shape dims = expanded.node.Ints("dim", {});
  const std::int64_t last = std::ssize(input) - 1;
  kernel.variant = dims.empty() || std::ranges::count(dims, last) > 0 ||
                   std::ranges::count(dims, -1) > 0;
  SetRows(input, kernel.inner_extent, 1, kernel);
}

void Upsample(const Expansion& expansion, const ExpandedNode& expanded,
              Kernel& kernel) {
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  kernel.positions = PositionsOf(result);
  kernel.channels_in = result.size() > 1 ? result[1] : 1;
  kernel.inner_extent = LastOf(result);
}

/// Multi-tensor kernels process some tensors per launch.
void Optimizer(const Expansion&, const ExpandedNode& expanded, Kernel& kernel) {
  constexpr std::int64_t kTensorsPerLaunch = 64;
  const std::int64_t tensors = std::max(std::ssize(expanded.node.inputs),
                                        std::ssize(expanded.node.outputs));
  kernel.launches = std::max<std::int64_t>(
      1, (tensors + kTensorsPerLaunch - 1) / kTensorsPerLaunch);
}

struct KindRow {
  OpKind kind;
  KernelClass kernel_class;
  void (*describe)(const Expansion&, const ExpandedNode&, Kernel&);
  std::int64_t launches = 1;
};

// clang-format off
constexpr auto kKindRows = std::to_array<KindRow>({
    {OpKind::kConvolution,       KernelClass::kOther, &DescribeConvolution},
    {OpKind::kTransposedConvolution, KernelClass::kOther, &DescribeConvolution},
    {OpKind::kLinear,            KernelClass::kLinear, &DescribeLinear},
    {OpKind::kMatmul,            KernelClass::kMatmul, &DescribeMatmul},
    {OpKind::kEinsum,            KernelClass::kMatmul, &Plain},
    {OpKind::kAttention,         KernelClass::kAttention, &DescribeAttention},
    {OpKind::kRecurrent,         KernelClass::kLinear, &DescribeRecurrent},
    {OpKind::kEmbedding,         KernelClass::kGather, &Rows},
    {OpKind::kBatchNorm,         KernelClass::kBatchNorm, &BatchNorm},
    {OpKind::kLayerNorm,         KernelClass::kLayerNorm, &LastNorm},
    {OpKind::kGroupNorm,         KernelClass::kGroupNorm, &GroupNorm, 3},
    {OpKind::kInstanceNorm,      KernelClass::kBatchNorm, &GroupNorm},
    {OpKind::kRmsNorm,           KernelClass::kLayerNorm, &LastNorm},
    {OpKind::kLocalResponseNorm, KernelClass::kGroupNorm, &ChannelNorm},
    {OpKind::kSoftmax,           KernelClass::kSoftmax, &Along},
    {OpKind::kRelu,              KernelClass::kRelu, &Plain},
    {OpKind::kGelu,              KernelClass::kGelu, &Plain},
    {OpKind::kSilu,              KernelClass::kSilu, &Plain},
    {OpKind::kSigmoid,           KernelClass::kActivation, &Plain},
    {OpKind::kTanh,              KernelClass::kActivation, &Plain},
    {OpKind::kHardActivation,    KernelClass::kRelu, &Plain},
    {OpKind::kOtherActivation,   KernelClass::kActivation, &Plain},
    {OpKind::kMaxPool,           KernelClass::kMaxPool, &DescribePool},
    {OpKind::kAveragePool,       KernelClass::kAveragePool, &DescribePool},
    {OpKind::kAdd,               KernelClass::kAdd, &Broadcasting},
    {OpKind::kSubtract,          KernelClass::kAdd, &Broadcasting},
    {OpKind::kMultiply,          KernelClass::kMultiply, &Broadcasting},
    {OpKind::kDivide,            KernelClass::kMultiply, &Broadcasting},
    {OpKind::kElementwise,       KernelClass::kElementwise, &Broadcasting},
    {OpKind::kCompare,           KernelClass::kElementwise, &Broadcasting},
    {OpKind::kSelect,            KernelClass::kElementwise, &Broadcasting},
    {OpKind::kDropout,           KernelClass::kElementwise, &Broadcasting},
    {OpKind::kReduce,            KernelClass::kReduce, &Reduction},
    {OpKind::kArgReduce,         KernelClass::kReduce, &Reduction},
    {OpKind::kView,              KernelClass::kCopy, &Rows},
    {OpKind::kCopy,              KernelClass::kCopy, &Rows},
    {OpKind::kCast,              KernelClass::kCopy, &Rows},
    {OpKind::kConcat,            KernelClass::kConcat, &Rows},
    {OpKind::kPad,               KernelClass::kPad, &Rows},
    {OpKind::kGather,            KernelClass::kGather, &Rows},
    {OpKind::kScatter,           KernelClass::kGather, &Rows},
    {OpKind::kUpsample,          KernelClass::kUpsample, &Upsample},
    {OpKind::kSort,              KernelClass::kSort, &Sort, 6},
    {OpKind::kCumulative,        KernelClass::kScan, &Along},
    {OpKind::kFill,              KernelClass::kFill, &Plain},
    {OpKind::kRandom,            KernelClass::kRandom, &Plain},
    {OpKind::kFft,               KernelClass::kFft, &Plain, 2},
    {OpKind::kDetection,         KernelClass::kDetection, &Plain, 6},
    {OpKind::kLoss,              KernelClass::kLoss, &Plain, 2},
    {OpKind::kAttentionBackward, KernelClass::kAttentionBackward,
     &DescribeAttentionBackward, 3},
    {OpKind::kRecurrentBackward, KernelClass::kRecurrent, &DescribeRecurrent},
    {OpKind::kEmbeddingBackward, KernelClass::kEmbeddingBackward, &Rows, 4},
    {OpKind::kNormBackward,      KernelClass::kNormBackward, &Rows, 2},
    {OpKind::kSoftmaxBackward,   KernelClass::kSoftmax, &Along},
    {OpKind::kActivationBackward, KernelClass::kElementwise, &Broadcasting},
    {OpKind::kPoolBackward,      KernelClass::kPoolBackward, &Plain},
    {OpKind::kUpsampleBackward,  KernelClass::kUpsampleBackward, &Plain},
    {OpKind::kOptimizerUpdate,   KernelClass::kOptimizer, &Optimizer},
});
// clang-format on

}  // namespace

void SetRows(const Shape& shape, std::int64_t elements, std::int64_t step,
             Kernel& kernel) {
  kernel.row_elements = std::max<std::int64_t>(1, elements);
  kernel.rows = NumElements(shape) / kernel.row_elements;
  kernel.row_step = step;
}

void DescribeKernel(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel) {
  kernel.macs = expanded.node.macs;
  kernel.arithmetic = kernel.macs > 0 ? ProductPrecision(expansion, expanded)
                                      : Precision::kFp32;
  kernel.float8 = kernel.macs > 0 && MultipliesFloat8(expansion, expanded);
  kernel.float4 = kernel.macs > 0 && MultipliesFloat4(expansion, expanded);
  if (kernel.macs > 0) DescribeEngineProduct(expansion, expanded, kernel);
  const auto* const row =
      std::ranges::find(kKindRows, expanded.node.kind, &KindRow::kind);
  if (row == kKindRows.end()) return;
  kernel.kernel_class = row->kernel_class;
  kernel.launches = row->launches;
  if (expanded.node.inputs.empty()) return;
  row->describe(expansion, expanded, kernel);
  SetElementLoop(expansion, expanded, kernel);
  SetGradientLoop(expansion, expanded, kernel);
}

}  // namespace foretell::cost
