#include "src/runtime/tensorrt/layer_parts.h"

#include <algorithm>
#include <span>

namespace foretell::runtime {
namespace {

constexpr OpKind kPointwiseKinds[] = {OpKind::kBatchNorm,
                                      OpKind::kRelu,
                                      OpKind::kGelu,
                                      OpKind::kSilu,
                                      OpKind::kSigmoid,
                                      OpKind::kTanh,
                                      OpKind::kHardActivation,
                                      OpKind::kAdd,
                                      OpKind::kOtherActivation,
                                      OpKind::kSubtract,
                                      OpKind::kMultiply,
                                      OpKind::kDivide,
                                      OpKind::kElementwise,
                                      OpKind::kCompare,
                                      OpKind::kSelect,
                                      OpKind::kCast};

bool Contains(std::span<const OpKind> kinds, OpKind kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

}  // namespace

bool IsFreeLayer(const OperatorGraph& graph, const Node& node) {
  constexpr OpKind kKinds[] = {OpKind::kView, OpKind::kCopy, OpKind::kCast,
                               OpKind::kDropout, OpKind::kPad};
  if (!Contains(kKinds, node.kind) || node.inputs.empty()) return false;
  if (node.target.ends_with('_') && node.kind != OpKind::kView) return false;
  return std::ranges::all_of(node.outputs, [&](ValueId output) {
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
      return graph.value(input).storage == graph.value(output).storage;
    });
  });
}

LayerPart LayerPartOf(const OperatorGraph& graph, const Node& node) {
  if (IsFreeLayer(graph, node)) return LayerPart::kFree;
  if (node.outputs.size() != 1 || node.inputs.empty()) return LayerPart::kOther;
  if (Contains(kPointwiseKinds, node.kind)) return LayerPart::kPointwise;
  switch (node.kind) {
    case OpKind::kLayerNorm:
    case OpKind::kRmsNorm:
    case OpKind::kSoftmax:
      return LayerPart::kRows;
    case OpKind::kConvolution:
    case OpKind::kTransposedConvolution:
    case OpKind::kLinear:
    case OpKind::kMatmul:
      return LayerPart::kProduct;
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
      return LayerPart::kPool;
    default:
      return LayerPart::kOther;
  }
}

}  // namespace foretell::runtime
