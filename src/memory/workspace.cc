#include "src/memory/workspace.h"

#include <algorithm>
#include <span>

#include "foretell/memory.h"

// Scratch memory of cuDNN's convolutions: a first form, not calibrated.
//
// LibTorch gives cuDNN whatever workspace the chosen algorithm asks for, out
// of the caching allocator, and frees it when the operator returns. It is
// invisible in the graph, yet it raises the reserved memory: published peaks
// of training exceed a plain simulation by an amount that grows with the batch
// for networks of dense or grouped k x k convolutions, and hardly for others.
//
// The form follows from how the tensor-core kernels work. They want channels
// innermost, the tensors have them outermost; so a kernel without a variant
// for the planar layout first copies its operands and last its result. Its
// workspace is then a copy of the two operands and of the result. Both
// backward passes (by data, by filter) see the same three sizes.
//
//   dense and grouped, k > 1     copies of input, output and weight
//   pointwise (k = 1), 32-bit    a matrix product per image: no copies
//   pointwise, 16-bit            as dense: there is no planar variant
//   depthwise                    LibTorch's own kernels: nothing
//
// Implicit GEMM's index tables (kilobytes) and Winograd's transformed tiles
// (not chosen where TF32 is allowed) are left out.

namespace foretell {
namespace {

enum class ConvolutionClass { kDense, kGrouped, kPointwise, kDepthwise };

/// Workspace as multiples of the bytes of the three tensors.
struct WorkspaceRule {
  ConvolutionClass convolution;
  bool half;      ///< Of 16-bit floats.
  bool backward;  ///< The larger of the by-data and the by-filter pass.
  double input;
  double output;
  double weight;
};

constexpr WorkspaceRule kWorkspaceRules[] = {
    // class                      half   backward  input output weight
    {ConvolutionClass::kDense, false, false, 1, 1, 1},
    {ConvolutionClass::kDense, false, true, 1, 1, 1},
    {ConvolutionClass::kDense, true, false, 1, 1, 1},
    {ConvolutionClass::kDense, true, true, 1, 1, 1},
    {ConvolutionClass::kGrouped, false, false, 1, 1, 1},
    {ConvolutionClass::kGrouped, false, true, 1, 1, 1},
    {ConvolutionClass::kGrouped, true, false, 1, 1, 1},
    {ConvolutionClass::kGrouped, true, true, 1, 1, 1},
    {ConvolutionClass::kPointwise, false, false, 0, 0, 0},
    {ConvolutionClass::kPointwise, false, true, 0, 0, 0},
    {ConvolutionClass::kPointwise, true, false, 1, 1, 1},
    {ConvolutionClass::kPointwise, true, true, 1, 1, 1},
    {ConvolutionClass::kDepthwise, false, false, 0, 0, 0},
    {ConvolutionClass::kDepthwise, false, true, 0, 0, 0},
    {ConvolutionClass::kDepthwise, true, false, 0, 0, 0},
    {ConvolutionClass::kDepthwise, true, true, 0, 0, 0},
};

/// Positions of the three tensors among a node's inputs; kResult: its first
/// output.
constexpr int kResult = -1;
struct ConvolutionOperands {
  int input;
  int weight;
  int output;
};
constexpr ConvolutionOperands kForwardOperands = {0, 1, kResult};
constexpr ConvolutionOperands kBackwardOperands = {1, 2, 0};

const TensorType& Operand(const OperatorGraph& graph, const Node& node,
                          int position) {
  const ValueId id = position == kResult
                         ? node.outputs.front()
                         : node.inputs[static_cast<std::size_t>(position)];
  return graph.value(id).type;
}

/// `weight` is [out, in / groups, k…], or [in, out / groups, k…] transposed.
ConvolutionClass Classify(const Node& node, const TensorType& weight) {
  const std::int64_t groups = node.Int("groups", 1);
  const std::span<const std::int64_t> shape = weight.shape;
  if (groups > 1 && shape.size() > 1 && shape[1] == 1) {
    return ConvolutionClass::kDepthwise;
  }
  const std::span<const std::int64_t> kernel =
      shape.subspan(std::min<std::size_t>(2, shape.size()));
  const bool pointwise = std::ranges::all_of(
      kernel, [](std::int64_t extent) { return extent == 1; });
  if (pointwise) return ConvolutionClass::kPointwise;
  return groups > 1 ? ConvolutionClass::kGrouped : ConvolutionClass::kDense;
}

bool IsHalf(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

}  // namespace

bool memory::UsesCublas(const Node& node) {
  return node.kind == OpKind::kLinear || node.kind == OpKind::kMatmul ||
         node.kind == OpKind::kEinsum;
}

std::int64_t WorkspaceBytes(const OperatorGraph& graph, const Node& node) {
  const bool backward = node.kind == OpKind::kConvolutionBackward;
  const bool convolution = backward || node.kind == OpKind::kConvolution ||
                           node.kind == OpKind::kTransposedConvolution;
  const std::size_t operands = backward ? 3 : 2;
  if (!convolution || node.inputs.size() < operands || node.outputs.empty()) {
    return 0;
  }
  const ConvolutionOperands at =
      backward ? kBackwardOperands : kForwardOperands;
  const TensorType& input = Operand(graph, node, at.input);
  const TensorType& weight = Operand(graph, node, at.weight);
  const TensorType& output = Operand(graph, node, at.output);
  const ConvolutionClass found = Classify(node, weight);
  for (const WorkspaceRule& rule : kWorkspaceRules) {
    if (rule.convolution != found || rule.half != IsHalf(input.dtype) ||
        rule.backward != backward) {
      continue;
    }
    return static_cast<std::int64_t>(
        rule.input * static_cast<double>(input.Bytes()) +
        rule.output * static_cast<double>(output.Bytes()) +
        rule.weight * static_cast<double>(weight.Bytes()));
  }
  return 0;
}

}  // namespace foretell
