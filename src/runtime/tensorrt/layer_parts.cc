#include "src/runtime/tensorrt/layer_parts.h"

#include <algorithm>

#include "src/graph/shared_storage.h"

namespace foretell::runtime {
namespace {

constexpr bool IsPointwise(OpKind kind) {
  using enum OpKind;
  constexpr OpKind kKinds[] = {
      kBatchNorm,       kRelu,     kGelu,           kSilu,
      kSigmoid,         kTanh,     kHardActivation, kAdd,
      kOtherActivation, kSubtract, kMultiply,       kDivide,
      kElementwise,     kCompare,  kSelect,         kCast};
  return std::ranges::count(kKinds, kind) > 0;
}

}  // namespace

bool IsFreeLayer(const OperatorGraph& graph, const Node& node) {
  using enum OpKind;
  constexpr OpKind kKinds[] = {kView, kCopy, kCast, kDropout, kPad};
  if (std::ranges::count(kKinds, node.kind) == 0 || node.inputs.empty())
    return false;
  if (node.target.ends_with('_') && node.kind != kView) return false;
  return std::ranges::all_of(node.outputs, [&](ValueId output) {
    return LiesInOperand(graph, node, output);
  });
}

LayerPart LayerPartOf(const OperatorGraph& graph, const Node& node) {
  using enum OpKind;
  if (IsFreeLayer(graph, node)) return LayerPart::kFree;
  if (node.outputs.size() != 1 || node.inputs.empty()) return LayerPart::kOther;
  if (IsPointwise(node.kind)) return LayerPart::kPointwise;
  switch (node.kind) {
    case kLayerNorm:
    case kRmsNorm:
    case kSoftmax:
      return LayerPart::kRows;
    case kConvolution:
    case kTransposedConvolution:
    case kLinear:
    case kMatmul:
      return LayerPart::kProduct;
    case kMaxPool:
    case kAveragePool:
    case kReduce:
      return LayerPart::kPool;
    default:
      return LayerPart::kOther;
  }
}

}  // namespace foretell::runtime
