#include "src/runtime/tensorrt/plan_layers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "src/graph/index_of.h"
#include "src/runtime/tensorrt/constant_values.h"
#include "src/runtime/tensorrt/layer_parts.h"

// TensorRT's builder fuses layers before it times kernels for them ("Types of
// Layer Fusion" and "PointWise Fusion" of NVIDIA's TensorRT documentation,
// 10.x; demoBERT for attention, the norm with its residual, and the merged
// projections). The rules, operator after operator:
//
//   constants    what depends on weights alone is computed by the builder
//   product      a convolution, a linear layer or a product of matrices
//                computes what follows element by element, as long as no one
//                else reads its result: a batch norm (which disappears in the
//                weights), activations, a residual, scales, GELU
//   siblings     linear layers of one input with weights of the engine become
//                one product
//   elementwise  other operators element by element become one kernel with
//                those that they follow
//   rows         a layer norm or a softmax computes what goes before and after
//                it: the residual of a transformer goes there
//   pooling      a kernel that moves its operand and its result; PyTorch's also
//                writes indices. So is a sum or mean along dimensions, which
//                is no loop of PyTorch's here
//   attention    product, scale, mask, softmax and product are one kernel; with
//                a bias as large as the scores they are not
//
// Every other operator keeps its kernel. A layer runs where its last operator
// stands.

namespace foretell::runtime {
namespace {

class Planner {
 public:
  explicit Planner(const OperatorGraph& graph)
      : graph_(graph),
        is_constant_(ConstantValues(graph)),
        readers_(graph.values().size()),
        layer_of_(graph.nodes().size()) {
    for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
      for (const ValueId input : graph.node(id).inputs) {
        readers_[IndexOf(input)].push_back(id);
      }
    }
    for (const ValueId output : graph.outputs()) {
      readers_[IndexOf(output)].push_back(kNone);
    }
  }

  EnginePlan Plan() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (!IsBuilt(graph_.node(id))) Place(id);
    }
    EnginePlan plan{.is_constant = is_constant_, .layers = {}};
    std::ranges::copy_if(layers_, std::back_inserter(plan.layers),
                         [](const Layer& one) { return !one.nodes.empty(); });
    std::ranges::sort(plan.layers, {}, [](const Layer& one) {
      return one.kind == LayerKind::kSiblings ? one.nodes.front()
                                              : one.nodes.back();
    });
    return plan;
  }

 private:
  std::int64_t Elements(ValueId id) const {
    return graph_.value(id).type.NumElements();
  }
  bool IsConstant(ValueId id) const { return is_constant_[IndexOf(id)]; }
  bool IsBuilt(const Node& node) const {
    return !node.outputs.empty() &&
           std::ranges::all_of(node.outputs,
                               [this](ValueId id) { return IsConstant(id); });
  }

  /// The only operator that reads `id`; kNone if there are several, or if it is
  /// a result of the graph.
  NodeId SoleReader(ValueId id) const {
    const std::vector<NodeId>& readers = readers_[IndexOf(id)];
    return readers.size() == 1 ? readers.front() : kNone;
  }

  /// The tensor that `id` is a reshape or copy-free cast of.
  ValueId Origin(ValueId id) const {
    while (true) {
      const NodeId producer = graph_.value(id).producer;
      if (producer == kNone) return id;
      const Node& node = graph_.node(producer);
      const bool passes = IsFreeLayer(graph_, node) && node.inputs.size() == 1;
      if (!passes || SoleReader(node.inputs[0]) != producer ||
          Elements(node.inputs[0]) != Elements(id) ||
          !graph_.value(id).strides.empty()) {
        return id;
      }
      id = node.inputs[0];
    }
  }

  /// The layer whose result is `id` and which only `reader` reads, if it may
  /// still grow.
  std::optional<std::size_t> OpenLayer(ValueId id, NodeId reader) const {
    if (SoleReader(id) != reader) return {};
    const ValueId origin = Origin(id);
    const NodeId producer = graph_.value(origin).producer;
    if (producer == kNone || !layer_of_[IndexOf(producer)]) return {};
    const std::size_t layer = *layer_of_[IndexOf(producer)];
    const Layer& open = layers_[layer];
    const bool grows = open.kind == LayerKind::kElementwise ||
                       open.kind == LayerKind::kRows ||
                       open.kind == LayerKind::kProduct;
    return grows && open.nodes.back() == producer ? std::optional(layer)
                                                  : std::nullopt;
  }

  void Add(Layer layer) {
    for (const NodeId id : layer.nodes) layer_of_[IndexOf(id)] = layers_.size();
    layers_.push_back(std::move(layer));
  }

  /// Takes the views between `through` and its origin out of their layers, and
  /// returns them in order.
  std::vector<NodeId> TakeViews(ValueId through) {
    std::vector<NodeId> views;
    for (const ValueId origin = Origin(through); through != origin;) {
      const NodeId view = graph_.value(through).producer;
      if (const auto& layer = layer_of_[IndexOf(view)]) {
        std::erase(layers_[*layer].nodes, view);
      }
      views.insert(views.begin(), view);
      through = graph_.node(view).inputs[0];
    }
    return views;
  }

  /// Appends `id` and the views between it and the layer's result.
  void Join(std::size_t layer, ValueId through, NodeId id) {
    std::vector<NodeId> added = TakeViews(through);
    added.push_back(id);
    std::vector<NodeId>& nodes = layers_[layer].nodes;
    nodes.insert(nodes.end(), added.begin(), added.end());
    for (const NodeId one : added) layer_of_[IndexOf(one)] = layer;
  }

  void Place(NodeId id) {
    const Node& node = graph_.node(id);
    switch (LayerPartOf(graph_, node)) {
      case LayerPart::kPool:
        return Add({.kind = LayerKind::kPool, .nodes = {id}});
      case LayerPart::kPointwise:
        return PlacePointwise(id, node);
      case LayerPart::kRows:
        return PlaceRows(id, node);
      case LayerPart::kProduct:
        return PlaceProduct(id, node);
      default:
        break;
    }
    const bool attends = node.kind == OpKind::kAttention;
    Add({.kind = attends ? LayerKind::kAttention : LayerKind::kOwn,
         .nodes = {id},
         .anchor = id});
  }

  /// Whether what follows is a norm, which computes a residual itself.
  bool IsReadByNorm(ValueId id) const {
    NodeId reader = SoleReader(id);
    while (reader != kNone && IsFreeLayer(graph_, graph_.node(reader))) {
      reader = SoleReader(graph_.node(reader).outputs.front());
    }
    return reader != kNone &&
           LayerPartOf(graph_, graph_.node(reader)) == LayerPart::kRows;
  }

  bool Accepts(const Layer& layer, ValueId through, const Node& node) const {
    const ValueId result = node.outputs.front();
    if (Elements(through) != Elements(result)) return false;
    if (layer.kind == LayerKind::kElementwise) return true;
    for (const ValueId input : node.inputs) {
      if (input == through || IsConstant(input)) continue;
      const bool is_residual = layer.kind == LayerKind::kProduct &&
                               Elements(input) == Elements(result) &&
                               !IsReadByNorm(result);
      if (!is_residual) return false;
    }
    return true;
  }

  void PlacePointwise(NodeId id, const Node& node) {
    std::optional<std::size_t> joined;
    for (const ValueId input : node.inputs) {
      const auto layer = OpenLayer(input, id);
      if (!layer || layer == joined) continue;
      if (!joined && Accepts(layers_[*layer], input, node)) {
        Join(*layer, input, id);
        joined = layer;
      } else if (joined && CanMerge(*layer, *joined)) {
        Merge(*layer, input, *joined);
      }
    }
    if (!joined) Add({.kind = LayerKind::kElementwise, .nodes = {id}});
  }

  bool CanMerge(std::size_t layer, std::size_t into) const {
    return layers_[layer].kind == LayerKind::kElementwise &&
           layers_[into].kind == LayerKind::kElementwise;
  }

  /// Moves `layer`, and the views between its result and `through`.
  void Merge(std::size_t layer, ValueId through, std::size_t into) {
    std::vector<NodeId> moved = TakeViews(through);
    moved.insert(moved.end(), layers_[layer].nodes.begin(),
                 layers_[layer].nodes.end());
    for (const NodeId id : moved) layer_of_[IndexOf(id)] = into;
    std::vector<NodeId>& nodes = layers_[into].nodes;
    nodes.insert(nodes.end(), moved.begin(), moved.end());
    std::ranges::sort(nodes);
    layers_[layer].nodes.clear();
  }

  void PlaceRows(NodeId id, const Node& node) {
    const ValueId input = node.inputs.front();
    const auto layer = OpenLayer(input, id);
    if (layer && layers_[*layer].kind == LayerKind::kElementwise) {
      layers_[*layer].kind = LayerKind::kRows;
      return Join(*layer, input, id);
    }
    Add({.kind = LayerKind::kRows, .nodes = {id}});
  }

  void PlaceProduct(NodeId id, const Node& node) {
    if (node.kind == OpKind::kMatmul && PlaceAttention(id, node)) return;
    if (node.kind == OpKind::kLinear && JoinsSiblings(id, node)) return;
    Add({.kind = LayerKind::kProduct, .nodes = {id}, .anchor = id});
  }

  /// A layer without followers, of another product of the same input.
  bool JoinsSiblings(NodeId id, const Node& node) {
    for (const NodeId reader : readers_[IndexOf(node.inputs.front())]) {
      if (reader == kNone || reader >= id) continue;
      const Node& other = graph_.node(reader);
      const auto layer = layer_of_[IndexOf(reader)];
      if (!layer || other.kind != OpKind::kLinear ||
          other.inputs.size() != node.inputs.size() ||
          other.inputs.front() != node.inputs.front()) {
        continue;
      }
      Layer& open = layers_[*layer];
      if (open.kind != LayerKind::kSiblings && open.nodes.size() > 1) continue;
      open.kind = LayerKind::kSiblings;
      open.nodes.push_back(id);
      layer_of_[IndexOf(id)] = *layer;
      return true;
    }
    return false;
  }

  /// Whether all that `layer` reads apart from `scores` is smaller than those.
  bool HasOnlyMasks(const Layer& layer, std::int64_t scores) const {
    for (const NodeId id : layer.nodes) {
      if (id == layer.anchor) continue;
      for (const ValueId input : graph_.node(id).inputs) {
        const NodeId producer = graph_.value(input).producer;
        const bool is_inside = std::ranges::count(layer.nodes, producer) > 0;
        const bool is_large = Elements(input) >= scores;
        if (is_large && !is_inside && !IsScores(input)) return false;
      }
    }
    return true;
  }

  /// A product of two tensors that the step computes.
  bool IsScores(ValueId id) const {
    const NodeId producer = graph_.value(Origin(id)).producer;
    if (producer == kNone || !layer_of_[IndexOf(producer)]) return false;
    const Layer& layer = layers_[*layer_of_[IndexOf(producer)]];
    if (layer.kind != LayerKind::kProduct) return false;
    const Node& node = graph_.node(layer.anchor);
    return node.kind == OpKind::kMatmul && node.inputs.size() == 2 &&
           !IsConstant(node.inputs[0]) && !IsConstant(node.inputs[1]);
  }

  /// The scores that `rows` reads, if nothing else of their size enters.
  ValueId ScoresOf(const Layer& rows, std::int64_t elements) const {
    if (!HasOnlyMasks(rows, elements)) return kNone;
    for (const NodeId id : rows.nodes) {
      for (const ValueId input : graph_.node(id).inputs) {
        if (Elements(input) != elements || !IsScores(input)) continue;
        const auto layer = OpenLayer(input, id);
        if (layer && HasOnlyMasks(layers_[*layer], elements)) return input;
      }
    }
    return kNone;
  }

  bool PlaceAttention(NodeId id, const Node& node) {
    const ValueId weights = node.inputs.front();
    const auto rows = OpenLayer(weights, id);
    if (!rows || layers_[*rows].kind != LayerKind::kRows) return false;
    const ValueId scores = ScoresOf(layers_[*rows], Elements(weights));
    if (scores == kNone) return false;
    const std::size_t product =
        *layer_of_[IndexOf(graph_.value(Origin(scores)).producer)];
    TakeViews(scores);
    TakeViews(weights);
    Layer attention = std::move(layers_[product]);
    attention.kind = LayerKind::kAttention;
    const std::vector<NodeId>& inside = layers_[*rows].nodes;
    attention.nodes.insert(attention.nodes.end(), inside.begin(), inside.end());
    attention.nodes.push_back(id);
    layers_[product] = {};
    layers_[*rows] = {};
    Add(std::move(attention));
    return true;
  }

  const OperatorGraph& graph_;
  std::vector<bool> is_constant_;
  std::vector<std::vector<NodeId>> readers_;  ///< By value; kNone: a result.
  std::vector<std::optional<std::size_t>> layer_of_;  ///< By node.
  std::vector<Layer> layers_;
};

}  // namespace

EnginePlan PlanLayers(const OperatorGraph& graph) {
  return Planner(graph).Plan();
}

}  // namespace foretell::runtime
