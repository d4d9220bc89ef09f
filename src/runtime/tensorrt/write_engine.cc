#include "src/runtime/tensorrt/write_engine.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>

#include "src/graph/convolution.h"
#include "src/graph/copy_calls.h"
#include "src/graph/index_of.h"
#include "src/graph/strides.h"
#include "src/runtime/tensorrt/engine_strides.h"
#include "src/runtime/tensorrt/engine_types.h"

namespace foretell::runtime {
namespace {

class EngineWriter {
 public:
  EngineWriter(const OperatorGraph& graph, const EnginePlan& plan,
               const RuntimeSpec& spec)
      : graph_(graph),
        plan_(plan),
        types_(graph, plan, spec),
        builder_(InfoFor(graph, spec)),
        value_of_(graph.values().size(), kNone),
        storage_of_(graph.storages().size(), kNone),
        reads_image_(graph.values().size(), false) {
    builder_.SetParameterElements(graph.ParameterElements());
    for (const Value& value : graph.values()) names_.insert(value.name);
    for (const Node& node : graph.nodes()) {
      if (node.kind != OpKind::kConvolution) continue;
      for (const ValueId id : node.inputs) reads_image_[IndexOf(id)] = true;
    }
  }

  OperatorGraph Write() {
    for (const ValueId id : graph_.inputs()) builder_.MarkInput(Now(id));
    for (const Layer& layer : plan_.layers) WriteLayer(layer);
    for (const ValueId id : graph_.outputs()) builder_.MarkOutput(Now(id));
    builder_.DeriveLifetimes();
    return builder_.Build();
  }

 private:
  static GraphInfo InfoFor(const OperatorGraph& graph,
                           const RuntimeSpec& spec) {
    GraphInfo info = graph.info();
    info.runtime = spec;
    return info;
  }

  /// `name` with what makes it another than those of the graph.
  std::string NewName(std::string name) {
    while (!names_.insert(name).second) name += "+";
    return name;
  }

  const Node& NodeOf(NodeId id) const { return graph_.node(id); }

  StorageId StorageNow(StorageId id) {
    StorageId& now = storage_of_[IndexOf(id)];
    if (now != kNone) return now;
    const Storage& storage = graph_.storage(id);
    now = builder_.AddStorage(types_.BytesOf(id), storage.role, storage.label);
    return now;
  }

  /// The tensor in the engine; one that no layer gave yet is an input, a weight
  /// or a constant.
  ValueId Now(ValueId id) {
    ValueId& now = value_of_[IndexOf(id)];
    if (now != kNone) return now;
    const Value& value = graph_.value(id);
    StorageId storage = StorageNow(value.storage);
    if (value.producer != kNone &&
        builder_.storage(storage).role == TensorRole::kActivation) {
      builder_.SetRole(storage, TensorRole::kBuffer);
    }
    const bool is_image =
        reads_image_[IndexOf(id)] && value.type.shape.size() == kImageRank;
    now = builder_.AddSource(
        value.name, types_.TypeOf(id), storage,
        is_image ? ImageStrides(value.type.shape) : value.strides);
    return now;
  }

  std::vector<ValueId> Now(std::span<const ValueId> ids) {
    std::vector<ValueId> now;
    for (const ValueId id : ids) now.push_back(Now(id));
    return now;
  }

  /// Strides of result `id` of `node`.
  Strides StridesOfResult(const Node& node, ValueId id) {
    const Value& value = graph_.value(id);
    bool is_image = MakesImages(node);
    for (const ValueId input : node.inputs) {
      const ValueId now = value_of_[IndexOf(input)];
      if (now == kNone || plan_.is_constant[IndexOf(input)]) continue;
      const Value& operand = builder_.value(now);
      const bool shares = graph_.value(input).storage == value.storage;
      if (shares && operand.type.shape != value.type.shape) {
        return value.strides;
      }
      is_image |= IsChannelsLast(operand);
    }
    return is_image && value.type.shape.size() == kImageRank
               ? ImageStrides(value.type.shape)
               : value.strides;
  }

  ValueId AddResult(NodeId added, const Node& node, ValueId id) {
    const Value& value = graph_.value(id);
    const ValueId now = builder_.AddResult(added, value.name, types_.TypeOf(id),
                                           StorageNow(value.storage),
                                           StridesOfResult(node, id));
    value_of_[IndexOf(id)] = now;
    return now;
  }

  void WriteLayer(const Layer& layer) {
    switch (layer.kind) {
      case LayerKind::kSiblings:
        return WriteSiblings(layer);
      case LayerKind::kAttention:
        return WriteAttention(layer);
      case LayerKind::kOwn:
        return WriteOwn(NodeOf(layer.nodes.front()), layer.nodes.front());
      default:
        break;
    }
    const bool is_alone =
        layer.nodes.size() == 1 && layer.kind != LayerKind::kPool;
    return is_alone ? WriteOwn(NodeOf(layer.nodes[0]), kNone)
                    : WriteFused(layer);
  }

  /// `old` has the calls inside that the layer keeps; kNone: none.
  void WriteOwn(const Node& node, NodeId old) {
    const NodeId added = builder_.AddNode({.target = node.target,
                                           .inputs = Now(node.inputs),
                                           .attributes = node.attributes,
                                           .scope = node.scope});
    for (const ValueId id : node.outputs) AddResult(added, node, id);
    if (old == kNone) return;
    CopyCalls(graph_, old,
              {.value = [this](ValueId id) { return Now(id); },
               .storage = [this](StorageId id) { return StorageNow(id); },
               .name = [](const std::string& name) { return name; }},
              added, builder_);
  }

  bool IsInside(const Layer& layer, ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    return producer != kNone && std::ranges::count(layer.nodes, producer) > 0;
  }

  /// Operands of `node` from outside of the layer, those that `inputs` lacks.
  void AddOperands(const Layer& layer, const Node& node,
                   std::vector<ValueId>& inputs) {
    for (const ValueId id : node.inputs) {
      if (IsInside(layer, id)) continue;
      const ValueId now = Now(id);
      if (std::ranges::count(inputs, now) == 0) inputs.push_back(now);
    }
  }

  /// A batch norm of a convolution's result disappears in its weights.
  bool IsFolded(const Layer& layer, NodeId id) const {
    const Node& node = NodeOf(id);
    return layer.kind == LayerKind::kProduct && id != layer.anchor &&
           node.kind == OpKind::kBatchNorm &&
           graph_.value(node.inputs[0]).producer == layer.anchor;
  }

  void WriteFused(const Layer& layer) {
    const bool multiplies = layer.kind == LayerKind::kProduct;
    std::vector<NodeId> inside;
    std::vector<ValueId> inputs;
    if (multiplies) inputs = Now(NodeOf(layer.anchor).inputs);
    for (const NodeId id : layer.nodes) {
      if (id == layer.anchor || IsFolded(layer, id)) continue;
      inside.push_back(id);
      AddOperands(layer, NodeOf(id), inputs);
    }
    const Node& first = NodeOf(layer.nodes.front());
    NodeSpec spec{.target = layer.kind == LayerKind::kRows
                                ? "fused_reduce"
                                : "fused_elementwise",
                  .inputs = std::move(inputs),
                  .scope = first.scope};
    if (multiplies) {
      spec.target = NodeOf(layer.anchor).target;
      spec.attributes = NodeOf(layer.anchor).attributes;
    }
    WriteInside(layer, builder_.AddNode(std::move(spec)), inside);
  }

  /// Adds result and calls of the fused node `added`; tensors inside stay in
  /// registers, so they have no storage of their own.
  void WriteInside(const Layer& layer, NodeId added,
                   const std::vector<NodeId>& inside) {
    const ValueId last = NodeOf(layer.nodes.back()).outputs.front();
    const ValueId result = AddLayerResult(added, layer, last);
    const StorageId storage = builder_.value(result).storage;
    for (const NodeId id : layer.nodes) {
      const ValueId output = NodeOf(id).outputs.front();
      if (output == last) continue;
      const bool is_last = inside.empty();
      value_of_[IndexOf(output)] =
          is_last ? result
          : IsFolded(layer, id)
              ? Now(NodeOf(id).inputs[0])
              : builder_.AddInner(added, graph_.value(output).name,
                                  types_.TypeOf(output), storage);
    }
    for (const NodeId id : inside) {
      const Node& node = NodeOf(id);
      NodeSpec call{.target = node.target, .inputs = Now(node.inputs)};
      // Without its window a pooling costs what it moves.
      if (layer.kind != LayerKind::kPool) call.attributes = node.attributes;
      builder_.AddCall(added, std::move(call), {Now(node.outputs.front())});
    }
    if (builder_.value(result).type.shape == graph_.value(last).type.shape) {
      return;
    }
    const NodeId view =
        builder_.AddNode({.target = "view",
                          .inputs = {result},
                          .scope = NodeOf(layer.nodes.front()).scope});
    AddResult(view, NodeOf(layer.nodes.front()), last);
  }

  /// The result `id` of the fused node `added`. That of a convolution has the
  /// shape of its own result, which a Squeeze behind it changes.
  ValueId AddLayerResult(NodeId added, const Layer& layer, ValueId id) {
    const Node& first = NodeOf(layer.nodes.front());
    const ValueId own = first.outputs.front();
    TensorType type = types_.TypeOf(id);
    if (!IsForwardConvolution(first.kind) ||
        type.shape == graph_.value(own).type.shape) {
      return AddResult(added, first, id);
    }
    type.shape = graph_.value(own).type.shape;
    const ValueId result = builder_.AddResult(
        added, NewName(graph_.value(id).name), std::move(type),
        StorageNow(graph_.value(id).storage), StridesOfResult(first, own));
    value_of_[IndexOf(id)] = result;
    return result;
  }

  /// One matrix of the rows of all, and views of its result.
  void WriteSiblings(const Layer& layer) {
    const Node& first = NodeOf(layer.nodes.front());
    NodeSpec spec{.target = first.target,
                  .inputs = {Now(first.inputs.front())},
                  .attributes = first.attributes,
                  .scope = first.scope};
    for (std::size_t i = 1; i < first.inputs.size(); ++i) {
      spec.inputs.push_back(Stacked(layer, i));
    }
    TensorType type = types_.TypeOf(first.outputs.front());
    type.shape.back() = builder_.value(spec.inputs[1]).type.shape.front();
    const StorageId storage =
        builder_.AddStorage(type.Bytes(), TensorRole::kActivation, first.scope);
    const NodeId added = builder_.AddNode(std::move(spec));
    const ValueId whole = builder_.AddResult(
        added, NewName(graph_.value(first.outputs.front()).name), type,
        storage);
    std::int64_t start = 0;
    for (const NodeId id : layer.nodes) {
      const ValueId output = NodeOf(id).outputs.front();
      const std::int64_t end = start + graph_.value(output).type.shape.back();
      storage_of_[IndexOf(graph_.value(output).storage)] = storage;
      const NodeId view =
          builder_.AddNode({.target = "slice",
                            .inputs = {whole},
                            .attributes = {{"dim", std::int64_t{-1}},
                                           {"start", start},
                                           {"end", end},
                                           {"step", std::int64_t{1}}},
                            .scope = NodeOf(id).scope});
      value_of_[IndexOf(output)] = builder_.AddResult(
          view, graph_.value(output).name, types_.TypeOf(output), storage);
      start = end;
    }
  }

  /// Operand `i` of all siblings, one below the other.
  ValueId Stacked(const Layer& layer, std::size_t i) {
    std::string name;
    TensorType type;
    for (const NodeId id : layer.nodes) {
      const ValueId operand = NodeOf(id).inputs[i];
      const TensorType part = types_.TypeOf(operand);
      name += (name.empty() ? "" : "+") + graph_.value(operand).name;
      if (type.shape.empty()) {
        type = part;
      } else {
        type.shape.front() += part.shape.front();
      }
    }
    name = NewName(std::move(name));
    const StorageId storage =
        builder_.AddStorage(type.Bytes(), TensorRole::kParameter, name);
    return builder_.AddSource(name, type, storage);
  }

  /// The tensor `id` with its last two dimensions exchanged: a view.
  ValueId Transpose(ValueId id, const std::string& scope) {
    const Value value = builder_.value(id);
    TensorType type = value.type;
    const std::size_t rank = type.shape.size();
    std::swap(type.shape[rank - 1], type.shape[rank - 2]);
    const NodeId view = builder_.AddNode(
        {.target = "transpose",
         .inputs = {id},
         .attributes = {{"dim0", std::int64_t{-2}}, {"dim1", std::int64_t{-1}}},
         .scope = scope});
    return builder_.AddResult(view, NewName(value.name), std::move(type),
                              value.storage, TransposedStrides(value));
  }

  void WriteAttention(const Layer& layer) {
    const Node& anchor = NodeOf(layer.anchor);
    if (layer.nodes.size() == 1) return WriteOwn(anchor, kNone);
    const Node& last = NodeOf(layer.nodes.back());
    std::vector<ValueId> inputs = {Now(anchor.inputs[0]),
                                   Transpose(Now(anchor.inputs[1]), last.scope),
                                   Now(last.inputs[1])};
    for (const NodeId id : layer.nodes) {
      if (id == layer.anchor || id == layer.nodes.back()) continue;
      AddOperands(layer, NodeOf(id), inputs);
    }
    const NodeId added = builder_.AddNode(
        {.target = "scaled_dot_product_attention",
         .inputs = std::move(inputs),
         .attributes = {{"dropout_p", 0.0}, {"is_causal", false}},
         .scope = last.scope});
    AddResult(added, last, last.outputs.front());
  }

  const OperatorGraph& graph_;
  const EnginePlan& plan_;
  EngineTypes types_;
  GraphBuilder builder_;
  std::vector<ValueId> value_of_;      ///< By value of the graph.
  std::vector<StorageId> storage_of_;  ///< By storage of the graph.
  std::vector<bool> reads_image_;      ///< By value: a convolution reads it.
  std::unordered_set<std::string> names_;  ///< Taken.
};

}  // namespace

OperatorGraph WriteEngine(const OperatorGraph& graph, const EnginePlan& plan,
                          const RuntimeSpec& spec) {
  return EngineWriter(graph, plan, spec).Write();
}

}  // namespace foretell::runtime
