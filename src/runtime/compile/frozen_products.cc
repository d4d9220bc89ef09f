#include "src/runtime/compile/frozen_products.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "src/graph/index_of.h"
#include "src/graph/strides.h"

// torch/_inductor/fx_passes of PyTorch 2.13:
//
//   binary_folding.py      sums and products of a convolution's result with
//                          constants of one element for each channel, or of
//                          one, go into its weight and bias: so do batch norms.
//                          Constants of a wider type only where the result is
//                          converted back. Linear layers are folded only if
//                          enable_linear_binary_folding is set
//   freezing_patterns.py   three linear layers of one operand become one, and
//                          two of those without a bias

namespace foretell::runtime {
namespace {

constexpr auto kScaling =
    std::to_array<OpKind>({OpKind::kMultiply, OpKind::kDivide});
constexpr auto kShifting =
    std::to_array<OpKind>({OpKind::kAdd, OpKind::kSubtract});

bool IsOneOf(const std::array<OpKind, 2>& kinds, OpKind kind) {
  return std::ranges::count(kinds, kind) > 0;
}

class ProductFreezer {
 public:
  ProductFreezer(const OperatorGraph& graph,
                 const std::vector<bool>& is_constant)
      : graph_(graph),
        is_constant_(is_constant),
        readers_(graph.values().size()),
        is_output_(graph.values().size(), false) {
    for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
      for (const ValueId input : graph.node(id).inputs) {
        readers_[IndexOf(input)].push_back(id);
      }
    }
    for (const ValueId id : graph.outputs()) is_output_[IndexOf(id)] = true;
  }

  FrozenProducts Run() {
    FrozenProducts found;
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.outputs.size() != 1) continue;
      if (IsFoldable(node)) AddChain(id, found);
      if (IsMergeable(node)) linears_[KeyOf(node)].push_back(id);
    }
    for (const auto& [key, nodes] : linears_) MergeLinears(nodes, found);
    return found;
  }

 private:
  using Key = std::tuple<ValueId, DType, std::int64_t, bool>;

  bool IsConstant(ValueId id) const { return is_constant_[IndexOf(id)]; }
  DType TypeOf(ValueId id) const { return graph_.value(id).type.dtype; }
  const Shape& ShapeOf(ValueId id) const { return graph_.value(id).type.shape; }

  /// All operands but the first are constants.
  bool HasConstantWeights(const Node& node) const {
    return node.inputs.size() > kWeight && !IsConstant(node.inputs[0]) &&
           std::all_of(node.inputs.begin() + kWeight, node.inputs.end(),
                       [this](ValueId id) { return IsConstant(id); });
  }

  bool IsFoldable(const Node& node) const {
    return node.kind == OpKind::kConvolution && HasConstantWeights(node) &&
           readers_[IndexOf(node.inputs[kWeight])].size() == 1;
  }

  void AddChain(NodeId id, FrozenProducts& found) const {
    const Node& convolution = graph_.node(id);
    const DType dtype = TypeOf(convolution.outputs[0]);
    FoldedChain chain, folded;
    ValueId last = convolution.outputs[0];
    while (!is_output_[IndexOf(last)] && readers_[IndexOf(last)].size() == 1) {
      const NodeId next = readers_[IndexOf(last)].front();
      const Node& node = graph_.node(next);
      if (!FoldsInto(node, last, convolution)) break;
      chain.scales |= IsOneOf(kScaling, node.kind);
      chain.shifts |= IsOneOf(kShifting, node.kind);
      chain.nodes.push_back(next);
      chain.result = last = node.outputs[0];
      if (TypeOf(last) == dtype) folded = chain;
    }
    if (folded.nodes.empty()) return;
    const bool has_bias = convolution.inputs.size() > kBias;
    folded.shifts |= folded.scales && has_bias;
    found.convolutions[id] = folded;
  }

  bool FoldsInto(const Node& node, ValueId last,
                 const Node& convolution) const {
    const bool is_binary =
        IsOneOf(kScaling, node.kind) || IsOneOf(kShifting, node.kind);
    if (!is_binary || node.target.ends_with('_') || node.inputs.size() != 2 ||
        node.outputs.size() != 1 || ShapeOf(node.outputs[0]) != ShapeOf(last)) {
      return false;
    }
    // A constant minus the result, or divided by it, does not fold.
    const bool is_first = node.inputs[0] == last;
    const ValueId other = node.inputs[is_first ? 1 : 0];
    const bool commutes =
        node.kind == OpKind::kAdd || node.kind == OpKind::kMultiply;
    return (is_first || commutes) && IsConstant(other) &&
           IsFloatingPoint(TypeOf(other)) &&
           IsByChannel(graph_.value(other).type,
                       ShapeOf(convolution.inputs[kWeight]).front());
  }

  /// One element, or one for each channel: of the second dimension of images,
  /// or as batch norms hold them.
  static bool IsByChannel(const TensorType& type, std::int64_t channels) {
    const Shape& shape = type.shape;
    const std::int64_t elements = type.NumElements();
    if (elements == 1) return true;
    return elements == channels &&
           (shape.size() == 1 || shape.front() == channels ||
            (shape.front() == 1 && shape[1] == channels));
  }

  bool IsMergeable(const Node& node) const {
    return node.target == "linear" && HasConstantWeights(node);
  }

  /// Equal for layers that read the same operand: casts of a tensor to one
  /// type are the same (fx_graph_cse).
  Key KeyOf(const Node& node) const {
    ValueId operand = node.inputs[0];
    const NodeId producer = graph_.value(operand).producer;
    if (producer != kNone && graph_.node(producer).kind == OpKind::kCast) {
      operand = graph_.node(producer).inputs[0];
    }
    return {operand, TypeOf(node.inputs[0]),
            ShapeOf(node.inputs[kWeight]).back(), node.inputs.size() > kBias};
  }

  void MergeLinears(const std::vector<NodeId>& nodes,
                    FrozenProducts& found) const {
    constexpr std::size_t kMost = 3, kLeast = 2;
    const bool has_bias = graph_.node(nodes.front()).inputs.size() > kBias;
    std::size_t first = 0;
    while (nodes.size() - first >= (has_bias ? kMost : kLeast)) {
      const std::size_t count = std::min(kMost, nodes.size() - first);
      const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(first);
      found.linears[nodes[first]] = {
          begin, begin + static_cast<std::ptrdiff_t>(count)};
      first += count;
    }
  }

  const OperatorGraph& graph_;
  const std::vector<bool>& is_constant_;
  std::vector<std::vector<NodeId>> readers_;  ///< By value.
  std::vector<bool> is_output_;               ///< By value.
  std::map<Key, std::vector<NodeId>> linears_;
};

}  // namespace

FrozenProducts FindFrozenProducts(const OperatorGraph& graph,
                                  const std::vector<bool>& is_constant) {
  return ProductFreezer(graph, is_constant).Run();
}

}  // namespace foretell::runtime
