#include "src/features/node_facts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "src/graph/convolution.h"

namespace foretell {
namespace {

double Last(const Shape& shape) {
  return shape.empty() ? 1.0 : static_cast<double>(shape.back());
}

const TensorType* InputType(const OperatorGraph& graph, const Node& node,
                            std::size_t index) {
  if (index >= node.inputs.size()) return nullptr;
  return &graph.value(node.inputs[index]).type;
}

const TensorType* ResultType(const OperatorGraph& graph, const Node& node) {
  if (node.outputs.empty()) return nullptr;
  return &graph.value(node.outputs.front()).type;
}

void SetWindow(const Shape& window, const Shape& stride, const Node& node,
               NodeFacts& facts) {
  if (window.empty()) return;
  facts.kernel_width = Last(window);
  facts.kernel_height =
      window.size() < 2 ? 1.0 : static_cast<double>(window[window.size() - 2]);
  facts.stride = Last(stride);
  facts.dilation = Last(node.Ints("dilation", {1}));
}

void SetConvolution(const OperatorGraph& graph, const Node& node,
                    NodeFacts& facts) {
  const std::optional<Convolution> convolution = ConvolutionOf(graph, node);
  if (!convolution) return;
  SetWindow(convolution->window, convolution->stride, node, facts);
  facts.groups = static_cast<double>(convolution->groups);
  facts.channels_in = static_cast<double>(convolution->channels_in);
  facts.channels_out = static_cast<double>(convolution->channels_out);
  facts.depthwise = convolution->IsDepthwise();
  if (convolution->transposed) facts.stride = -facts.stride;
}

void SetPooling(const Node& node, NodeFacts& facts) {
  const Shape window = node.Ints("kernel_size", {});
  const Shape stride = node.Ints("stride", {});
  SetWindow(window, stride.empty() ? window : stride, node, facts);
}

/// A matrix product sums over the width of its left factor.
void SetMatrixProduct(const OperatorGraph& graph, const Node& node,
                      NodeFacts& facts) {
  const bool adds = node.target.starts_with("add") ||
                    node.target.starts_with("badd") ||
                    node.target.starts_with("_addmm");
  const TensorType* left = InputType(graph, node, adds ? 1 : 0);
  const TensorType* result = ResultType(graph, node);
  if (left != nullptr) facts.channels_in = Last(left->shape);
  if (result != nullptr) facts.channels_out = Last(result->shape);
}

void SetOutput(const TensorType& type, NodeFacts& facts) {
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    const double size = static_cast<double>(type.shape[i]);
    double& slot = facts.output_dims[std::min(i, kOutputDims - 1)];
    slot = i < kOutputDims ? size : slot * size;
  }
  facts.element_bytes = static_cast<double>(ByteWidth(type.dtype));
}

void SetTraffic(const OperatorGraph& graph, const Node& node,
                NodeFacts& facts) {
  const std::set<ValueId> inputs(node.inputs.begin(), node.inputs.end());
  for (const ValueId id : inputs) {
    const double bytes = static_cast<double>(graph.value(id).type.Bytes());
    (IsWeight(graph, id) ? facts.weight_bytes : facts.input_bytes) += bytes;
  }
  for (const ValueId id : node.outputs) {
    facts.output_bytes += static_cast<double>(graph.value(id).type.Bytes());
  }
  if (node.outputs.empty()) return;
  const StorageId storage = graph.value(node.outputs.front()).storage;
  facts.aliases_input = std::ranges::any_of(node.inputs, [&](ValueId id) {
    return graph.value(id).storage == storage;
  });
}

}  // namespace

bool IsWeight(const OperatorGraph& graph, ValueId id) {
  return IsSourceRole(graph.storage(graph.value(id).storage).role);
}

NodeFacts FactsOf(const OperatorGraph& graph, const Node& node) {
  NodeFacts facts;
  facts.op_class = ClassOf(node.kind);
  facts.phase = node.phase;
  facts.macs = static_cast<double>(node.macs);
  switch (facts.op_class) {
    case OperatorClass::kConvolution:
      SetConvolution(graph, node, facts);
      break;
    case OperatorClass::kResampling:
      SetPooling(node, facts);
      break;
    case OperatorClass::kMatrixProduct:
    case OperatorClass::kAttention:
    case OperatorClass::kRecurrent:
      SetMatrixProduct(graph, node, facts);
      break;
    default:
      break;
  }
  const TensorType* result = ResultType(graph, node);
  if (result != nullptr) SetOutput(*result, facts);
  SetTraffic(graph, node, facts);
  return facts;
}

}  // namespace foretell
