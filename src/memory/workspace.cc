#include "src/memory/workspace.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "foretell/memory.h"
#include "src/graph/convolution.h"

// Scratch memory of cuDNN's convolutions.
//
// LibTorch gives cuDNN whatever workspace the chosen algorithm asks for, out
// of the caching allocator, and frees it when the pass is over. It is invisible
// in the graph, yet it raises the reserved memory: published peaks of training
// exceed a plain simulation by an amount that grows with the batch for networks
// of dense or grouped k x k convolutions, and hardly for others.
//
// The backward operator runs two passes one after the other. Each first
// allocates its gradient, then its workspace, and frees that before the next
// pass: two blocks that never live together, but the second one finds the
// gradient of the input where the first one's neighbour was. Modelled as one
// block of the larger size, as a first form of this file did, the fit to the
// published peaks is worse however large the block is.
//
// Sizes are multiples of the bytes of the three tensors, input, output and
// weight: algorithms copy them into another layout, or unfold or transform
// them. The multiples of 32-bit convolutions were found by coordinate descent
// over published peaks of training on an A100 (GPUMemNet's table of timm
// networks; every third row), under the median of the absolute percentage
// error. The minimum is flat: 0 and 0.5 often differ by less than 0.02 points.
// They are copies for tensor cores, whose kernels want channels innermost. A
// card that multiplies TF32 no faster than FP32, as GeForce cards do, runs
// dense 32-bit convolutions where the tensors are: on such cards published
// peaks of training leave no room for a workspace (docs/memory.md). Those of
// 16-bit convolutions are not fitted to anything: tensor-core kernels want
// channels innermost, so all three tensors are copied.
//
// The 2.25 are a Winograd transform in a kernel of its own: 4 x 4 outputs of a
// 3 x 3 window are 6 x 6 products, 36 numbers in place of 16. Channels that
// take it were read off generated CNNs of the same source, and timm's networks,
// which had no part in it, agree; but their stems of 32 to 64 channels do not,
// and the generated networks leave open whether those take it (docs/memory.md).

namespace foretell {
namespace {

using memory::ConvolutionClass;

/// Workspaces as multiples of the bytes of input, output and weight together.
struct WorkspaceRule {
  ConvolutionClass convolution;
  bool half;  ///< Convolves 16-bit floats.
  double forward;
  double input_gradient;
  double weight_gradient;
  /// Copies for TF32's kernels: nothing on a device that gains nothing by them.
  bool for_tf32 = false;
};

constexpr WorkspaceRule kWorkspaceRules[] = {
    // class                      half  forward  d input  d weight  for TF32
    {ConvolutionClass::kStem, false, 0.5, 0, 0, true},
    {ConvolutionClass::kUnitStride3x3, false, 0.5, 1, 0, true},
    {ConvolutionClass::kDense, false, 0.5, 0.5, 1, true},
    {ConvolutionClass::kGrouped, false, 0.5, 0.5, 1},
    {ConvolutionClass::kPointwise, false, 0, 0, 0},
    {ConvolutionClass::kGroupedPointwise, false, 2, 4, 0},
    {ConvolutionClass::kDepthwise, false, 0.5, 0, 0},
    {ConvolutionClass::kStem, true, 1, 1, 1},
    {ConvolutionClass::kUnitStride3x3, true, 1, 1, 1},
    {ConvolutionClass::kDense, true, 1, 1, 1},
    {ConvolutionClass::kGrouped, true, 1, 1, 1},
    {ConvolutionClass::kPointwise, true, 1, 1, 1},
    {ConvolutionClass::kGroupedPointwise, true, 1, 1, 1},
    {ConvolutionClass::kDepthwise, true, 0, 0, 0},
};

constexpr std::int64_t kStemChannels = 4;

// Where the gradient of the input is a Winograd transform, and the channels for
// which published peaks show one: of the larger side, and of the input.
constexpr WorkspaceRule kWinogradRule = {
    ConvolutionClass::kUnitStride3x3, false, 0.5, 2.25, 0, true};
constexpr std::int64_t kLeastWinogradChannels = 41;
constexpr std::int64_t kMostWinogradChannels = 160;
constexpr std::int64_t kLeastWinogradInputs = 33;

double BytesOf(const Convolution& convolution) {
  return static_cast<double>(convolution.input->Bytes()) +
         static_cast<double>(convolution.weight->Bytes()) +
         static_cast<double>(convolution.output->Bytes());
}

bool AllAre(std::span<const std::int64_t> numbers, std::int64_t value) {
  return std::ranges::all_of(
      numbers, [value](std::int64_t number) { return number == value; });
}

ConvolutionClass Classify(const Convolution& convolution) {
  const bool grouped = convolution.groups > 1;
  if (convolution.IsDepthwise()) return ConvolutionClass::kDepthwise;
  if (AllAre(convolution.window, 1)) {
    return grouped ? ConvolutionClass::kGroupedPointwise
                   : ConvolutionClass::kPointwise;
  }
  if (grouped) return ConvolutionClass::kGrouped;
  if (convolution.channels_in <= kStemChannels) return ConvolutionClass::kStem;
  const bool unit_stride = AllAre(convolution.stride, 1);
  return AllAre(convolution.window, 3) && unit_stride
             ? ConvolutionClass::kUnitStride3x3
             : ConvolutionClass::kDense;
}

bool IsHalf(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

bool GainsByTf32(const DeviceSpec& device) {
  const auto tf32 = device.peak_tflops.find(Precision::kTf32);
  const auto fp32 = device.peak_tflops.find(Precision::kFp32);
  const auto end = device.peak_tflops.end();
  return tf32 != end && fp32 != end && tf32->second > fp32->second;
}

/// Of 32-bit convolutions of 3 taps a dimension and stride 1.
bool TakesWinograd(const Convolution& convolution) {
  const std::int64_t channels =
      std::max(convolution.channels_in, convolution.channels_out);
  return channels >= kLeastWinogradChannels &&
         channels <= kMostWinogradChannels &&
         convolution.channels_in >= kLeastWinogradInputs &&
         convolution.window.size() == 2 && AllAre(convolution.dilation, 1);
}

const WorkspaceRule& RuleOf(const Convolution& convolution) {
  const ConvolutionClass found = Classify(convolution);
  const bool half = IsHalf(convolution.input->dtype);
  if (found == kWinogradRule.convolution && half == kWinogradRule.half &&
      TakesWinograd(convolution)) {
    return kWinogradRule;
  }
  return *std::ranges::find_if(kWorkspaceRules, [&](const WorkspaceRule& rule) {
    return rule.convolution == found && rule.half == half;
  });
}

/// Workspaces of the passes that output_mask asks for; without one, of both.
std::vector<memory::WorkspaceBlock> BackwardBlocks(const Node& node,
                                                   const WorkspaceRule& rule,
                                                   double bytes) {
  const WantedGradients wanted = WantedGradientsOf(node);
  std::vector<memory::WorkspaceBlock> blocks;
  std::size_t output = 0;
  const auto add = [&](double multiple) {
    const auto size = static_cast<std::int64_t>(multiple * bytes);
    if (size > 0) blocks.push_back({output, size});
    ++output;
  };
  if (wanted.input) add(rule.input_gradient);
  if (wanted.weight) add(rule.weight_gradient);
  return blocks;
}

}  // namespace

bool memory::UsesCublas(const Node& node) {
  return node.kind == OpKind::kLinear || node.kind == OpKind::kMatmul ||
         node.kind == OpKind::kEinsum;
}

bool memory::UsesCudnn(const Node& node) {
  return IsConvolution(node.kind) || node.kind == OpKind::kRecurrent ||
         node.kind == OpKind::kRecurrentBackward;
}

std::optional<memory::ConvolutionFacts> memory::ConvolutionFactsOf(
    const OperatorGraph& graph, const Node& node) {
  const std::optional<Convolution> convolution = ConvolutionOf(graph, node);
  if (!convolution || node.outputs.empty()) return std::nullopt;
  return ConvolutionFacts{
      .convolution = Classify(*convolution),
      .image_bytes = convolution->input->Bytes() + convolution->output->Bytes(),
      .weight_bytes = convolution->weight->Bytes()};
}

std::vector<memory::WorkspaceBlock> memory::WorkspaceBlocks(
    const OperatorGraph& graph, const Node& node, const DeviceSpec& device) {
  const std::optional<Convolution> convolution = ConvolutionOf(graph, node);
  if (!convolution || node.outputs.empty()) return {};
  const WorkspaceRule& rule = RuleOf(*convolution);
  if (rule.for_tf32 && !GainsByTf32(device)) return {};
  const double bytes = BytesOf(*convolution);
  if (convolution->backward) return BackwardBlocks(node, rule, bytes);
  const auto size = static_cast<std::int64_t>(rule.forward * bytes);
  if (size <= 0) return {};
  return {{node.outputs.size() - 1, size}};
}

std::int64_t WorkspaceBytes(const OperatorGraph& graph, const Node& node,
                            const DeviceSpec& device) {
  std::int64_t largest = 0;
  for (const memory::WorkspaceBlock& block :
       memory::WorkspaceBlocks(graph, node, device)) {
    largest = std::max(largest, block.bytes);
  }
  return largest;
}

}  // namespace foretell
