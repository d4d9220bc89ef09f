#include "src/runtime/compile/freeze.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/graph/index_of.h"
#include "src/graph/shared_storage.h"
#include "src/runtime/compile/frozen_constants.h"
#include "src/runtime/compile/frozen_products.h"
#include "src/runtime/compile/primitive_emitter.h"

// torch/_inductor/freezing.py, PyTorch 2.13. The module keeps its parameters,
// so folded copies of them are memory in addition; with
// freezing_discard_parameters they are gone after the first call.

namespace foretell::runtime {
namespace {

class Freezer {
 public:
  explicit Freezer(const OperatorGraph& graph)
      : graph_(graph),
        emitter_(graph, graph.info(), false),
        is_constant_(FindConstants(graph)),
        products_(FindFrozenProducts(graph, is_constant_)),
        is_done_(graph.nodes().size(), false) {
    for (const auto& [first, chain] : products_.convolutions) {
      for (const NodeId id : chain.nodes) is_done_[IndexOf(id)] = true;
    }
    for (const auto& [first, nodes] : products_.linears) {
      for (const NodeId id : nodes) is_done_[IndexOf(id)] = id != first;
    }
  }

  OperatorGraph Run() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (!is_done_[IndexOf(id)] && !IsFolded(graph_.node(id))) Add(id);
    }
    for (const ValueId id : graph_.outputs()) Materialize(id);
    return emitter_.Finish();
  }

 private:
  bool IsFolded(const Node& node) const {
    return !node.outputs.empty() && is_constant_[IndexOf(node.outputs[0])];
  }

  void Add(NodeId id) {
    const Node& node = graph_.node(id);
    const auto chain = products_.convolutions.find(id);
    if (chain != products_.convolutions.end()) {
      return AddConvolution(node, chain->second);
    }
    const auto linears = products_.linears.find(id);
    if (linears != products_.linears.end()) return AddLinears(linears->second);
    for (const ValueId input : node.inputs) Materialize(input);
    emitter_.Begin(node);
    emitter_.Copy(node, true);
  }

  /// Lets a constant be there: a view of another, or a tensor of its own.
  void Materialize(ValueId id) {
    if (emitter_.Now(id) != kNone) return;
    const Value& value = graph_.value(id);
    const Node& maker = graph_.node(value.producer);
    if (!LiesInOperand(graph_, maker, id)) {
      return emitter_.Set(id, emitter_.AddConstant(value.type, value.strides));
    }
    for (const ValueId input : maker.inputs) Materialize(input);
    emitter_.Begin(maker);
    emitter_.Copy(maker, false);
  }

  ValueId Constant(ValueId id) {
    Materialize(id);
    return emitter_.Now(id);
  }

  void AddConvolution(const Node& node, const FoldedChain& chain) {
    const Value& weight = graph_.value(node.inputs[kWeight]);
    std::vector<ValueId> inputs = {
        emitter_.Now(node.inputs[0]),
        chain.scales ? emitter_.AddConstant(weight.type, weight.strides)
                     : Constant(node.inputs[kWeight])};
    if (chain.shifts) {
      inputs.push_back(emitter_.AddConstant(
          {weight.type.dtype, {weight.type.shape.front()}}, {}));
    } else if (node.inputs.size() > kBias) {
      inputs.push_back(Constant(node.inputs[kBias]));
    }
    emitter_.Begin(node);
    emitter_.Set(chain.result,
                 emitter_.EmitLike(node.target, std::move(inputs),
                                   node.outputs[0], node.attributes));
  }

  std::int64_t FeaturesOf(NodeId id) const {
    return graph_.value(graph_.node(id).outputs[0]).type.shape.back();
  }

  void AddLinears(const std::vector<NodeId>& nodes) {
    const Node& first = graph_.node(nodes.front());
    std::int64_t features = 0;
    for (const NodeId id : nodes) features += FeaturesOf(id);
    TensorType weight = graph_.value(first.inputs[kWeight]).type;
    weight.shape.front() = features;
    std::vector<ValueId> inputs = {emitter_.Now(first.inputs[0]),
                                   emitter_.AddConstant(weight, {})};
    if (first.inputs.size() > kBias) {
      inputs.push_back(emitter_.AddConstant({weight.dtype, {features}}, {}));
    }
    TensorType type = graph_.value(first.outputs[0]).type;
    type.shape.back() = features;
    emitter_.Begin(first);
    const ValueId whole = emitter_.Emit(first.target, std::move(inputs),
                                        std::move(type), first.attributes);
    for (const NodeId id : nodes) {
      const ValueId part = graph_.node(id).outputs[0];
      emitter_.Set(part, emitter_.FirstOf(whole, graph_.value(part).type));
    }
  }

  const OperatorGraph& graph_;
  PrimitiveEmitter emitter_;
  std::vector<bool> is_constant_;  ///< By value.
  FrozenProducts products_;
  std::vector<bool> is_done_;  ///< By node: another one's work.
};

/// Without parameters and buffers of which nothing reads the storage.
OperatorGraph Discard(const OperatorGraph& graph) {
  std::vector<bool> is_read(graph.storages().size(), false);
  const auto read = [&](ValueId id) {
    is_read[IndexOf(graph.value(id).storage)] = true;
  };
  for (const Node& node : graph.nodes()) {
    std::ranges::for_each(node.inputs, read);
  }
  std::ranges::for_each(graph.outputs(), read);
  std::vector<bool> is_gone(graph.values().size(), false);
  for (ValueId id = 0; id < std::ssize(graph.values()); ++id) {
    const Value& value = graph.value(id);
    is_gone[IndexOf(id)] = value.producer == kNone &&
                           !is_read[IndexOf(value.storage)] &&
                           IsSourceRole(graph.storage(value.storage).role);
  }
  PrimitiveEmitter emitter(graph, graph.info(), false, is_gone);
  for (const Node& node : graph.nodes()) {
    emitter.Begin(node);
    emitter.Copy(node, true);
  }
  return emitter.Finish();
}

}  // namespace

OperatorGraph Freeze(const OperatorGraph& graph) {
  OperatorGraph frozen = Freezer(graph).Run();
  return graph.info().runtime.freezing == Freezing::kDiscard ? Discard(frozen)
                                                             : frozen;
}

}  // namespace foretell::runtime
