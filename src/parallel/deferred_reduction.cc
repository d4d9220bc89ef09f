#include "src/parallel/deferred_reduction.h"

#include <algorithm>

#include "src/graph/collective.h"
#include "src/graph/index_of.h"

// PyTorch 2.13. fully_shard: FSDPParamGroup.post_backward without reduce_grads,
// FSDPParam.to_accumulated_grad_if_needed and
// accumulate_unsharded_grad_if_needed. FullyShardedDataParallel:
// _post_backward_hook without _sync_gradients, which leaves the flat gradient
// where autograd adds to it.

namespace foretell::parallel {
namespace {

constexpr std::string_view kPackFlat = "cat";
constexpr std::string_view kPack = "_chunk_cat";

class ReductionSearch {
 public:
  explicit ReductionSearch(const OperatorGraph& graph) : graph_(graph) {
    found_.is_deferred.resize(graph.nodes().size(), false);
  }

  DeferredReduction Run() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kBackward) continue;
      if (node.target == kReduceScatter) {
        AddExchange(id);
      } else if (ReadsDeferred(node)) {
        Defer(id);
      }
    }
    return std::move(found_);
  }

 private:
  void Defer(NodeId id) { found_.is_deferred[IndexOf(id)] = true; }

  /// What was scattered and is converted, summed over groups or sent on.
  bool ReadsDeferred(const Node& node) const {
    return std::ranges::any_of(node.inputs, [this](ValueId input) {
      const NodeId producer = graph_.value(input).producer;
      return producer != kNone && found_.is_deferred[IndexOf(producer)];
    });
  }

  void AddExchange(NodeId scatter) {
    Defer(scatter);
    NodeId pack = ProducerOfFirst(scatter);
    while (graph_.node(pack).target != kPack &&
           graph_.node(pack).target != kPackFlat) {
      Defer(pack);
      pack = ProducerOfFirst(pack);
    }
    graph_.node(pack).target == kPackFlat ? KeepFlat(pack) : KeepWhole(pack);
  }

  NodeId ProducerOfFirst(NodeId id) const {
    return graph_.value(graph_.node(id).inputs.front()).producer;
  }

  void KeepFlat(NodeId pack) {
    const Value& flat = graph_.value(graph_.node(pack).outputs.front());
    found_.gradients.push_back({.storage = flat.storage, .writer = pack});
  }

  void KeepWhole(NodeId pack) {
    const DType reduced =
        graph_.value(graph_.node(pack).outputs.front()).type.dtype;
    for (const ValueId input : graph_.node(pack).inputs) {
      const Value& gradient = graph_.value(input);
      // The pack waits for the exchange before it, too.
      if (found_.is_deferred[IndexOf(gradient.producer)]) continue;
      const bool is_converted = gradient.type.dtype != reduced;
      found_.gradients.push_back({.storage = gradient.storage,
                                  .writer = gradient.producer,
                                  .packs = is_converted ? pack : kNone,
                                  .dtype = reduced});
    }
    Defer(pack);
  }

  const OperatorGraph& graph_;
  DeferredReduction found_;
};

}  // namespace

DeferredReduction FindDeferredReduction(const OperatorGraph& graph) {
  return ReductionSearch(graph).Run();
}

}  // namespace foretell::parallel
