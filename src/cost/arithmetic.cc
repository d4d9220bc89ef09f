#include "src/cost/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "src/cost/gemm.h"

// Which unit multiplies, and how close to its peak it comes.
//
//   convolution         implicit matrix product, groups as batch:
//                         m = images * positions, n = filters per group,
//                         k = inputs per group * kernel elements
//   depthwise           FP32 lanes, no reuse
//   linear, matmul …    matrix product
//   fused attention     blocks of 128 queries over the SMs; the efficiency
//                         grows with the number of keys
//   recurrent           matrix products that wait for each other, step by step
//
// float32 convolutions use TF32 unless asked otherwise (cuDNN's switch is on by
// default), float32 matrix products use true FP32 (cuBLAS's switch is off), and
// memory-efficient attention splits float32 into three TF32 products.

namespace foretell::cost {
namespace {

/// Of the tiled estimate: implicit addressing and layout changes cost more
/// than a plain product. From published A100 latencies of whole convolutional
/// networks; see docs/cost.md.
constexpr double kConvolutionEfficiency = 0.60;
/// Of the FP32 peak; judgement from whole networks of depthwise convolutions.
constexpr double kDepthwiseEfficiency = 0.05;
/// Prefill attention on A100 (scripts/published/fit_cost_table.py):
/// efficiency = 0.62 * keys / (keys + 250).
constexpr double kAttentionEfficiency = 0.62;
constexpr double kAttentionHalfKeys = 250;
constexpr double kAttentionQueryBlock = 128;
constexpr double kRecurrentEfficiency = 0.30;
constexpr double kRecurrentStepUs = 5;
/// A float32 product out of TF32 ones takes three of them.
constexpr double kEmulatedFloatProducts = 3;
/// Products of a backward attention per one of the forward's two.
constexpr double kAttentionBackwardRatio = 2.5;

/// A unit with its peak rate.
struct Unit {
  MatrixUnit kind = MatrixUnit::kSimt;
  double flops_per_us = 0;
};

bool IsConvolution(OpKind kind) {
  return kind == OpKind::kConvolution ||
         kind == OpKind::kTransposedConvolution ||
         kind == OpKind::kConvolutionBackward;
}

bool IsAttention(OpKind kind) {
  return kind == OpKind::kAttention || kind == OpKind::kAttentionBackward;
}

DType FloatTypeOf(const OperatorGraph& graph, const Node& node) {
  for (const ValueId input : node.inputs) {
    const DType dtype = graph.value(input).type.dtype;
    if (IsFloatingPoint(dtype)) return dtype;
  }
  return DType::kF32;
}

Unit UnitOf(const OperatorGraph& graph, const Node& node,
            const Machine& machine) {
  const DType dtype = FloatTypeOf(graph, node);
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    const Precision half =
        dtype == DType::kF16 ? Precision::kFp16 : Precision::kBf16;
    return {MatrixUnit::kTensorCore, machine.FlopsPerUs(half)};
  }
  const double fp32 = machine.FlopsPerUs(Precision::kFp32);
  if (dtype != DType::kF32) return {MatrixUnit::kSimt, fp32 / 2};
  const Precision precision = graph.info().precision;
  if (IsConvolution(node.kind) || precision == Precision::kTf32) {
    return {MatrixUnit::kTensorCore, machine.FlopsPerUs(Precision::kTf32)};
  }
  if (IsAttention(node.kind)) {
    return {MatrixUnit::kTensorCore,
            machine.FlopsPerUs(Precision::kTf32) / kEmulatedFloatProducts};
  }
  return {MatrixUnit::kSimt, fp32};
}

double Product(std::span<const std::int64_t> sizes) {
  double product = 1;
  for (const std::int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

/// Shape of one pass; a backward node does one or two of them.
GemmShape ConvolutionShape(const OperatorGraph& graph, const Node& node) {
  const bool backward = node.kind == OpKind::kConvolutionBackward;
  const bool transposed = node.kind == OpKind::kTransposedConvolution ||
                          node.Int("transposed", 0) != 0;
  const auto& weight = graph.value(node.inputs[backward ? 2 : 1]).type.shape;
  const ValueId result = backward ? node.inputs[0] : node.outputs[0];
  const ValueId source = node.inputs[backward ? 1 : 0];
  const double groups =
      static_cast<double>(std::max<std::int64_t>(1, node.Int("groups", 1)));
  const double moved =
      Product(graph.value(transposed ? source : result).type.shape);
  const double channels = static_cast<double>(weight[0]);
  const double per_channel = Product(weight) / channels;
  if (transposed) {
    return {groups, moved / channels, per_channel, channels / groups};
  }
  return {groups, moved / channels, channels / groups, per_channel};
}

/// Last two dimensions of the result; leading ones are rows unless the right
/// factor is batched as well.
GemmShape MatmulShape(const OperatorGraph& graph, const Node& node) {
  const auto& result = graph.value(node.outputs[0]).type.shape;
  const double elements = Product(result);
  const double n = result.empty() ? 1 : static_cast<double>(result.back());
  const double k = static_cast<double>(node.macs) / elements;
  const bool batched = node.kind == OpKind::kMatmul && result.size() > 2 &&
                       graph.value(node.inputs.back()).type.shape.size() > 2;
  if (!batched) return {1, elements / n, n, k};
  const double m = static_cast<double>(result[result.size() - 2]);
  return {elements / m / n, m, n, k};
}

Arithmetic Convolution(const OperatorGraph& graph, const Node& node,
                       double flops, const Machine& machine) {
  const GemmShape shape = ConvolutionShape(graph, node);
  const bool depthwise =
      shape.batch > 1 && shape.n * shape.k <= std::max(shape.n, shape.k);
  if (depthwise) {
    const double peak = machine.FlopsPerUs(Precision::kFp32);
    return {flops / peak / kDepthwiseEfficiency, flops / peak};
  }
  const Unit unit = UnitOf(graph, node, machine);
  const double passes = static_cast<double>(node.macs) / shape.Macs();
  const double us = GemmUs(shape, unit.kind, unit.flops_per_us, machine);
  return {passes * us / kConvolutionEfficiency, flops / unit.flops_per_us};
}

Arithmetic Attention(const OperatorGraph& graph, const Node& node, double flops,
                     const Machine& machine) {
  const bool backward = node.kind == OpKind::kAttentionBackward;
  const auto& query = graph.value(node.inputs[backward ? 1 : 0]).type.shape;
  const double width = query.empty() ? 1 : static_cast<double>(query.back());
  const double rows = Product(query) / width;
  const double macs = static_cast<double>(node.macs) /
                      (backward ? kAttentionBackwardRatio : 1.0);
  const double keys = macs / rows / (2 * width);
  const double blocks = std::ceil(rows / kAttentionQueryBlock);
  const double waves = std::ceil(blocks / machine.sms);
  const double occupancy = blocks / (waves * machine.sms);
  const double efficiency =
      kAttentionEfficiency * keys / (keys + kAttentionHalfKeys) * occupancy;
  const Unit unit = UnitOf(graph, node, machine);
  const double causal = node.Int("is_causal", 0) != 0 ? 0.5 : 1.0;
  const double at_peak = causal * flops / unit.flops_per_us;
  return {at_peak / efficiency, at_peak};
}

/// Steps that must run one after another.
double RecurrentSteps(const OperatorGraph& graph, const Node& node) {
  const auto& input = graph.value(node.inputs[0]).type.shape;
  if (node.target.ends_with("_cell") || input.size() < 2) return 1;
  const bool batch_first = input.size() > 2 && node.Int("batch_first", 0) != 0;
  const double layers =
      static_cast<double>(std::max<std::int64_t>(1, node.Int("num_layers", 1)));
  return static_cast<double>(input[batch_first ? 1 : 0]) * layers;
}

Arithmetic Recurrent(const OperatorGraph& graph, const Node& node, double flops,
                     const Machine& machine) {
  const Unit unit = UnitOf(graph, node, machine);
  const double at_peak = flops / unit.flops_per_us;
  return {at_peak / kRecurrentEfficiency +
              RecurrentSteps(graph, node) * kRecurrentStepUs,
          at_peak};
}

Arithmetic Matmul(const OperatorGraph& graph, const Node& node, double flops,
                  const Machine& machine) {
  const Unit unit = UnitOf(graph, node, machine);
  const GemmShape shape = MatmulShape(graph, node);
  return {GemmUs(shape, unit.kind, unit.flops_per_us, machine),
          flops / unit.flops_per_us};
}

}  // namespace

Arithmetic ArithmeticOf(const OperatorGraph& graph, const Node& node,
                        double flops, const Machine& machine) {
  if (node.macs == 0 || node.outputs.empty()) {
    const double us = flops / machine.FlopsPerUs(Precision::kFp32);
    return {us, us};
  }
  if (IsConvolution(node.kind)) {
    return Convolution(graph, node, flops, machine);
  }
  if (IsAttention(node.kind)) return Attention(graph, node, flops, machine);
  if (node.kind == OpKind::kRecurrent ||
      node.kind == OpKind::kRecurrentBackward) {
    return Recurrent(graph, node, flops, machine);
  }
  return Matmul(graph, node, flops, machine);
}

}  // namespace foretell::cost
