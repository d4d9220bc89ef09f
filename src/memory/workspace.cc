#include "src/memory/workspace.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "foretell/memory.h"
#include "src/device/compute_capability.h"
#include "src/graph/convolution.h"
#include "src/graph/recurrent_layer.h"
#include "src/graph/unfolded_convolution.h"
#include "src/memory/operand_blocks.h"
#include "src/memory/operator_scratch.h"

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
// gradient of the input where the first one's neighbour was. One block of the
// larger size fits the published peaks worse.
//
// Sizes are multiples of the bytes of the three tensors, input, output and
// weight: algorithms copy them into another layout, or unfold or transform
// them. The multiples of 32-bit convolutions were found by coordinate descent
// over published peaks of training on an A100 (GPUMemNet's table of timm
// networks; every third row), under the median of the absolute percentage
// error. They are copies for tensor cores, whose kernels want channels
// innermost. A card that multiplies TF32 no faster than FP32, as GeForce cards
// do, runs dense 32-bit convolutions where the tensors are: on such cards
// published peaks of training leave no room for a workspace (docs/memory.md).
// Those of 16-bit convolutions are not fitted to anything: tensor-core kernels
// want channels innermost, so all three tensors are copied.
//
// Convolutions of 3 x 3 taps and stride 1 were read off generated CNNs of the
// same source, whose channels are any number:
//
// - Kernels for tensor cores load and store four channels at a time. A side
//   whose channels are not a multiple of four is copied, and padded, in the
//   forward pass, and the other is not, nor either to at most 32 channels.
// - Where the gradient of the input is computed the weight is copied twice: it
//   is turned around, too.
// - The 2.25 are a Winograd transform in a kernel of its own: 4 x 4 outputs of
//   a 3 x 3 window are 6 x 6 products, 36 numbers in place of 16.
//
// On Hopper they were measured one convolution at a time (cuDNN 9.19 on an
// H100, the distinct convolutions of stock networks, datasets/labels): windows
// of more than one tap copy all three tensors, once, in either direction;
// pointwise and depthwise ones copy nothing forward. The rest are shares of the
// bytes that those of a class took in all, over 32 MiB each.
//
// With channels innermost already (channels_last), nothing is left to copy: on
// an H200 (datasets/labels) dense convolutions of more than 16 MiB used 0.5 %
// of their tensors' bytes forward and 2.7 % backward, pointwise ones 0.2 % and
// 15 %. Grouped ones and stems keep their copies there.

namespace foretell {
namespace {

using memory::ConvolutionClass;
using memory::WorkspaceBlock;

/// Of the bytes of each tensor.
struct Multiples {
  double input = 0;
  double output = 0;
  double weight = 0;
};

constexpr Multiples Each(double multiple) {
  return {multiple, multiple, multiple};
}

struct WorkspaceRule {
  ConvolutionClass convolution;
  bool half;  ///< Convolves 16-bit floats.
  Multiples forward;
  Multiples input_gradient;
  Multiples weight_gradient;
  /// Copies for TF32's kernels: nothing on a device that gains nothing by them.
  bool for_tf32 = false;
};

constexpr WorkspaceRule kWorkspaceRules[] = {
    // class, half, forward, gradient of the input, of the weight, for TF32
    {ConvolutionClass::kStem, false, Each(0.5), {}, {}, true},
    {ConvolutionClass::kUnitStride3x3, false, Each(0.5), {1, 1, 2}, {}, true},
    {ConvolutionClass::kDense, false, Each(0.5), Each(0.5), Each(1), true},
    {ConvolutionClass::kGrouped, false, Each(0.5), Each(0.5), Each(1)},
    {ConvolutionClass::kPointwise, false, {}, {}, {}},
    {ConvolutionClass::kGroupedPointwise, false, Each(2), Each(4), {}},
    {ConvolutionClass::kDepthwise, false, Each(0.5), {}, {}},
    {ConvolutionClass::kStem, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kUnitStride3x3, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kDense, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kGrouped, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kPointwise, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kGroupedPointwise, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kDepthwise, true, {}, {}, {}},
};

constexpr WorkspaceRule kHopperRules[] = {
    {ConvolutionClass::kStem, false, {}, Each(0.3), Each(0.3)},
    {ConvolutionClass::kUnitStride3x3, false, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kDense, false, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kGrouped, false, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kPointwise, false, {}, Each(0.3), Each(0.3)},
    {ConvolutionClass::kGroupedPointwise, false, {}, Each(0.2), {}},
    {ConvolutionClass::kDepthwise, false, {}, {}, {}},
    {ConvolutionClass::kStem, true, {}, Each(1.3), Each(1.3)},
    {ConvolutionClass::kUnitStride3x3, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kDense, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kGrouped, true, Each(1), Each(1), Each(1)},
    {ConvolutionClass::kPointwise, true, {}, Each(0.4), Each(0.4)},
    {ConvolutionClass::kGroupedPointwise, true, {}, Each(0.2), {}},
    {ConvolutionClass::kDepthwise, true, {}, {}, {}},
};

// Where the gradient of the input is a Winograd transform, and the channels for
// which published peaks show one: of the larger side, and of the input.
constexpr Multiples kWinogradTransform = {2.25, 2.25, 2};
constexpr std::int64_t kLeastWinogradChannels = 41;
constexpr std::int64_t kMostWinogradChannels = 160;
constexpr std::int64_t kLeastWinogradInputs = 33;

// What tensor cores load and store at a time, in 32 bits.
constexpr std::int64_t kVectorChannels = 4;
// Channels to which published peaks show no copy in the forward pass.
constexpr std::int64_t kMostUncopiedOutputs = 32;

std::int64_t WorkspaceOf(const Convolution& convolution,
                         const Multiples& multiples) {
  const auto bytes = [](double multiple, const TensorType* type) {
    return multiple * static_cast<double>(type->Bytes());
  };
  return static_cast<std::int64_t>(bytes(multiples.input, convolution.input) +
                                   bytes(multiples.weight, convolution.weight) +
                                   bytes(multiples.output, convolution.output));
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
  if (convolution.channels_in <= kMostStemChannels)
    return ConvolutionClass::kStem;
  const bool unit_stride = AllAre(convolution.stride, 1);
  return AllAre(convolution.window, 3) && unit_stride
             ? ConvolutionClass::kUnitStride3x3
             : ConvolutionClass::kDense;
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

/// Of 32-bit convolutions of 3 taps a dimension and stride 1.
Multiples ForwardCopies(const Convolution& convolution,
                        const Multiples& aligned) {
  const bool pads_input = convolution.channels_in % kVectorChannels != 0;
  const bool pads_output = convolution.channels_out % kVectorChannels != 0;
  if (!pads_input && !pads_output) return aligned;
  if (convolution.channels_out <= kMostUncopiedOutputs) return {};
  return {pads_input ? 1.0 : 0.0, pads_output ? 1.0 : 0.0, 1.0};
}

/// The row of `rules` for convolutions of the class and of `dtype`.
const WorkspaceRule& RowOf(std::span<const WorkspaceRule> rules,
                           ConvolutionClass convolution, DType dtype) {
  return *std::ranges::find_if(rules, [&](const WorkspaceRule& row) {
    return row.convolution == convolution && row.half == IsHalf(dtype);
  });
}

/// Patches that do not overlap do not count as a stem there.
WorkspaceRule RuleOnHopper(const Convolution& convolution) {
  ConvolutionClass found = Classify(convolution);
  if (found == ConvolutionClass::kStem &&
      convolution.window == convolution.stride) {
    found = ConvolutionClass::kDense;
  }
  WorkspaceRule rule = RowOf(kHopperRules, found, convolution.input->dtype);
  if (found == ConvolutionClass::kPointwise && !AllAre(convolution.stride, 1)) {
    rule.forward = Each(0.5);
    rule.input_gradient = rule.weight_gradient = Each(1);
  }
  return rule;
}

WorkspaceRule RuleOf(const Convolution& convolution, const DeviceSpec& device) {
  if (device.compute_capability == device::kHopper)
    return RuleOnHopper(convolution);
  const ConvolutionClass found = Classify(convolution);
  WorkspaceRule rule = RowOf(kWorkspaceRules, found, convolution.input->dtype);
  if (found == ConvolutionClass::kUnitStride3x3 && !rule.half) {
    rule.forward = ForwardCopies(convolution, rule.forward);
    if (TakesWinograd(convolution)) rule.input_gradient = kWinogradTransform;
  }
  return rule;
}

/// Of images that lie with their channels innermost: whether the kernels for
/// tensor cores find them in the layout that they need.
bool RunsInPlace(const Convolution& convolution) {
  switch (Classify(convolution)) {
    case ConvolutionClass::kUnitStride3x3:
    case ConvolutionClass::kDense:
    case ConvolutionClass::kPointwise:
      return true;
    default:
      return false;
  }
}

/// Workspaces of the passes that output_mask asks for; without one, of both.
std::vector<WorkspaceBlock> BackwardBlocks(const Node& node,
                                           const WorkspaceRule& rule,
                                           const Convolution& convolution) {
  const WantedGradients wanted = WantedGradientsOf(node);
  std::vector<WorkspaceBlock> blocks;
  std::size_t output = 0;
  const auto add = [&](const Multiples& multiples) {
    const std::int64_t size = WorkspaceOf(convolution, multiples);
    if (size > 0) blocks.push_back({output, size});
    ++output;
  };
  if (wanted.input) add(rule.input_gradient);
  if (wanted.weight) add(rule.weight_gradient);
  return blocks;
}

/// The columns of one image. Groups run one after the other, on a copy of their
/// share of the operands, and their results are joined once the columns are
/// gone.
WorkspaceBlock UnfoldedBlock(const Node& node, const Convolution& convolution) {
  std::int64_t bytes =
      ColumnsOf(convolution).Elements() * ByteWidth(convolution.input->dtype);
  if (convolution.groups > 1) {
    const bool backward = convolution.backward;
    const WantedGradients wanted = WantedGradientsOf(node);
    const std::int64_t input = convolution.input->Bytes();
    const std::int64_t output = convolution.output->Bytes();
    const std::int64_t operands = input + (backward ? output : 0);
    const std::int64_t gradients =
        (wanted.input ? input : 0) +
        (wanted.weight ? convolution.weight->Bytes() : 0);
    bytes = std::max(bytes + operands / convolution.groups,
                     backward ? gradients : output);
  }
  return {node.outputs.size() - 1, bytes, false};
}

std::vector<WorkspaceBlock> OwnBlocks(const OperatorGraph& graph,
                                      const Node& node,
                                      const DeviceSpec& device) {
  std::vector<WorkspaceBlock> blocks;
  for (const std::int64_t bytes : memory::ScratchTensors(node, graph, device)) {
    blocks.push_back({node.outputs.size() - 1, bytes, false});
  }
  return blocks;
}

std::vector<WorkspaceBlock> CudnnBlocks(const OperatorGraph& graph,
                                        const Node& node,
                                        const Convolution& convolution,
                                        const DeviceSpec& device,
                                        const TorchVersion& torch) {
  if (RunsUnfolded(graph, node, torch)) {
    const WorkspaceBlock block = UnfoldedBlock(node, convolution);
    if (block.bytes == 0) return {};
    return {block};
  }
  if (convolution.channels_last && RunsInPlace(convolution)) return {};
  const WorkspaceRule rule = RuleOf(convolution, device);
  if (rule.for_tf32 && !GainsByTf32(device)) return {};
  if (convolution.backward) return BackwardBlocks(node, rule, convolution);
  const std::int64_t size = WorkspaceOf(convolution, rule.forward);
  if (size <= 0) return {};
  return {{node.outputs.size() - 1, size}};
}

}  // namespace

bool memory::UsesCudnn(const Node& node) {
  return IsConvolution(node.kind) || IsRecurrentLayer(node);
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

std::vector<WorkspaceBlock> memory::WorkspaceBlocks(const OperatorGraph& graph,
                                                    const Node& node,
                                                    const DeviceSpec& device,
                                                    const TorchVersion& torch) {
  if (node.outputs.empty()) return {};
  const std::optional<Convolution> convolution = ConvolutionOf(graph, node);
  std::vector<WorkspaceBlock> blocks =
      convolution ? CudnnBlocks(graph, node, *convolution, device, torch)
                  : OwnBlocks(graph, node, device);
  AddOperandBlocks(graph, node, torch, blocks);
  return blocks;
}

}  // namespace foretell
