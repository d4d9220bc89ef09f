#include <algorithm>
#include <array>
#include <cstddef>

#include "src/kernels/describe_products.h"
#include "src/kernels/expansion.h"
#include "src/kernels/upsample.h"

// Which class a node's own kernel belongs to, and the sizes other than bytes
// and products that its speed depends on. One table of kinds.

namespace foretell::cost {
namespace {

std::int64_t PositionsOf(const Shape& shape) {
  std::int64_t product = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) product *= shape[i];
  return product;
}

void Plain(const Expansion&, const ExpandedNode&, Kernel&) {}

/// Works along the last dimension, or moves runs of it.
void Rows(const Expansion& expansion, const ExpandedNode& expanded,
          Kernel& kernel) {
  kernel.inner_extent = LastOf(expansion.tensors.ShapeOf(expanded.result()));
}

void ChannelNorm(const Expansion& expansion, const ExpandedNode& expanded,
                 Kernel& kernel) {
  const Shape& shape = expansion.tensors.ShapeOf(expanded.result());
  kernel.inner_extent = PositionsOf(shape);
  kernel.channels_in = shape.size() > 1 ? shape[1] : 1;
}

void GroupNorm(const Expansion& expansion, const ExpandedNode& expanded,
               Kernel& kernel) {
  ChannelNorm(expansion, expanded, kernel);
  const Shape& shape = expansion.tensors.ShapeOf(expanded.result());
  const Node& node = expanded.node;
  const std::int64_t groups =
      node.Int("num_groups", node.Int("group", kernel.channels_in));
  kernel.group_elements = kernel.channels_in * PositionsOf(shape) /
                          std::max<std::int64_t>(1, groups);
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

/// Extents of a pooling window; those of an adaptive one follow from the sizes.
Shape PoolWindow(const Node& node, const Shape& input, const Shape& result) {
  if (node.target.find("adaptive") == std::string::npos) {
    return node.Ints("kernel_size", {0});
  }
  Shape window;
  const std::size_t rank = std::min(input.size(), result.size());
  for (std::size_t back = std::min<std::size_t>(2, rank); back > 0; --back) {
    window.push_back(input[input.size() - back] /
                     std::max<std::int64_t>(1, result[result.size() - back]));
  }
  return window;
}

void Pool(const Expansion& expansion, const ExpandedNode& expanded,
          Kernel& kernel) {
  const Node& node = expanded.node;
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  const Shape& input = expansion.tensors.ShapeOf(node.inputs.front());
  const Shape window = PoolWindow(node, input, result);
  if (window.empty()) return;
  kernel.window_height = window.front();
  kernel.window_width = window.back();
  const Shape stride = node.Ints("stride", window);
  kernel.stride = stride.empty() ? window.back() : stride.back();
  kernel.positions = PositionsOf(result);
  kernel.channels_in = result.size() > 1 ? result[1] : 1;
  kernel.inner_extent = LastOf(input);
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
}

void Upsample(const Expansion& expansion, const ExpandedNode& expanded,
              Kernel& kernel) {
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  kernel.positions = PositionsOf(result);
  kernel.channels_in = result.size() > 1 ? result[1] : 1;
  kernel.inner_extent = LastOf(result);
  kernel.serial_steps =
      SerialSteps(expanded.node, result, kernel.channels_last);
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
    {OpKind::kBatchNorm,         KernelClass::kBatchNorm, &ChannelNorm},
    {OpKind::kLayerNorm,         KernelClass::kLayerNorm, &Rows},
    {OpKind::kGroupNorm,         KernelClass::kGroupNorm, &GroupNorm, 3},
    {OpKind::kInstanceNorm,      KernelClass::kGroupNorm, &ChannelNorm},
    {OpKind::kRmsNorm,           KernelClass::kLayerNorm, &Rows},
    {OpKind::kLocalResponseNorm, KernelClass::kGroupNorm, &ChannelNorm},
    {OpKind::kSoftmax,           KernelClass::kSoftmax, &Rows},
    {OpKind::kRelu,              KernelClass::kRelu, &Plain},
    {OpKind::kGelu,              KernelClass::kGelu, &Plain},
    {OpKind::kSilu,              KernelClass::kSilu, &Plain},
    {OpKind::kSigmoid,           KernelClass::kActivation, &Plain},
    {OpKind::kTanh,              KernelClass::kActivation, &Plain},
    {OpKind::kHardActivation,    KernelClass::kRelu, &Plain},
    {OpKind::kOtherActivation,   KernelClass::kActivation, &Plain},
    {OpKind::kMaxPool,           KernelClass::kMaxPool, &Pool},
    {OpKind::kAveragePool,       KernelClass::kAveragePool, &Pool},
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
    {OpKind::kSort,              KernelClass::kSort, &Plain, 6},
    {OpKind::kCumulative,        KernelClass::kScan, &Plain, 2},
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
    {OpKind::kSoftmaxBackward,   KernelClass::kSoftmax, &Rows},
    {OpKind::kActivationBackward, KernelClass::kElementwise, &Broadcasting},
    {OpKind::kPoolBackward,      KernelClass::kPoolBackward, &Plain},
    {OpKind::kUpsampleBackward,  KernelClass::kUpsampleBackward, &Plain},
    {OpKind::kOptimizerUpdate,   KernelClass::kOptimizer, &Optimizer},
});
// clang-format on

}  // namespace

void DescribeKernel(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel) {
  kernel.macs = expanded.node.macs;
  kernel.arithmetic = kernel.macs > 0 ? ProductPrecision(expansion, expanded)
                                      : Precision::kFp32;
  const auto* const row =
      std::ranges::find(kKindRows, expanded.node.kind, &KindRow::kind);
  if (row == kKindRows.end()) return;
  kernel.kernel_class = row->kernel_class;
  kernel.launches = row->launches;
  if (expanded.node.inputs.empty()) return;
  row->describe(expansion, expanded, kernel);
}

}  // namespace foretell::cost
