#include "src/parallel/accumulate_shards.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "src/graph/recompute_plan.h"
#include "src/graph/repeat_run.h"
#include "src/parallel/deferred_reduction.h"
#include "src/parallel/step_rewriter.h"

// A backward pass of fully_shard reduces gradients whether or not there are
// some already: foreach_reduce adds what it scattered to the shards,
// FullyShardedDataParallel does so in _accumulate_sharded_grad (PyTorch 2.13).
// Within no_sync() and after set_requires_gradient_sync(False) it keeps whole
// gradients instead (deferred_reduction.cc).

namespace foretell::parallel {
namespace {

/// A run of forward and backward passes: [first, end).
struct Passes {
  NodeId first = kNone;
  NodeId end = kNone;

  bool Have(NodeId id) const { return id >= first && id < end; }
};

Passes PassesOf(const OperatorGraph& graph) {
  Passes passes;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    if (graph.node(id).phase == Phase::kOptimizer) continue;
    if (passes.first == kNone) passes.first = id;
    passes.end = id + 1;
  }
  return passes;
}

class ShardAccumulation final : public StepRewriter {
 public:
  ShardAccumulation(const OperatorGraph& graph, int rounds,
                    DeferredReduction deferred)
      : StepRewriter(graph, kOneGpu),
        rounds_(rounds),
        passes_(PassesOf(graph)),
        lives_(StorageLives(graph)),
        deferred_(std::move(deferred)),
        is_sum_(graph.storages().size(), false) {
    if (deferred_.gradients.empty()) FindSums();
    for (const AddedGradient& gradient : deferred_.gradients) {
      is_sum_[IndexOf(gradient.storage)] = true;
      writers_[gradient.storage] = gradient.writer;
    }
  }

  /// Of the new graph: where each batch begins, and where the last one ends.
  const std::vector<NodeId>& starts() const { return starts_; }

 private:
  /// What a batch left when it ended, and the node of the next after which it
  /// goes.
  struct LeftOver {
    StorageId storage = kNone;
    NodeId until = kNone;
  };

  /// Gradients that the optimizer reads, and the last node that writes them.
  void FindSums() {
    for (const Node& node : graph().nodes()) {
      if (node.phase != Phase::kOptimizer) continue;
      for (const ValueId input : node.inputs) {
        const Value& value = graph().value(input);
        const StorageId storage = value.storage;
        const bool is_gradient =
            graph().storage(storage).role == TensorRole::kGradient;
        if (!is_gradient || !IsLeft(storage)) continue;
        is_sum_[IndexOf(storage)] = true;
        NodeId& writer = writers_.try_emplace(storage, kNone).first->second;
        if (passes_.Have(value.producer)) {
          writer = std::max(writer, value.producer);
        }
      }
    }
  }

  /// Whether a batch makes the storage.
  bool IsMade(StorageId id) const {
    return passes_.Have(lives_[IndexOf(id)].birth);
  }
  /// And leaves it.
  bool IsLeft(StorageId id) const {
    return IsMade(id) && lives_[IndexOf(id)].death >= passes_.end;
  }

  /// As the step frees what the step before it has left in the same place.
  NodeId EndOf(StorageId id) const {
    const Storage& left = graph().storage(id);
    for (StorageId other = 0; other < std::ssize(graph().storages()); ++other) {
      const StorageLife& life = lives_[IndexOf(other)];
      const Storage& storage = graph().storage(other);
      if (life.birth == kNone && passes_.Have(life.death) &&
          storage.bytes == left.bytes && storage.role == left.role) {
        return life.death;
      }
    }
    return lives_[IndexOf(id)].birth;
  }

  std::vector<NodeId> Order() const override {
    std::vector<NodeId> order(IndexOf(passes_.first));
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < rounds_; ++round) {
      for (NodeId id = passes_.first; id < passes_.end; ++id) {
        order.push_back(id);
      }
    }
    for (NodeId id = passes_.end; id < std::ssize(graph().nodes()); ++id) {
      order.push_back(id);
    }
    return order;
  }

  std::string NameNow(const std::string& name) const override {
    const std::size_t round = starts_.size();
    const bool is_repeated = round > 1 && std::cmp_less_equal(round, rounds_);
    return is_repeated ? fmt::format("{}.batch{}", name, round) : name;
  }

  bool IsLastRound() const {
    return std::cmp_greater_equal(starts_.size(), rounds_);
  }
  bool IsDeferred(NodeId id) const {
    return !deferred_.is_deferred.empty() && id != kNone &&
           deferred_.is_deferred[IndexOf(id)];
  }
  bool IsRun(const Node& node) const {
    const auto id = static_cast<NodeId>(&node - graph().nodes().data());
    return IsLastRound() || !IsDeferred(id);
  }
  bool HasOperand(const Node& node, std::size_t /*i*/) const override {
    return IsRun(node);
  }
  bool HasResult(const Node& node, std::size_t /*i*/) const override {
    return IsRun(node);
  }

  /// What was there before the first batch is freed once, as are sums, and only
  /// the last batch makes what is deferred to it.
  bool Keeps(const MemoryEvent& event) const override {
    const bool is_in_batch = passes_.Have(event.node);
    if (is_in_batch && !IsLastRound()) {
      if (IsDeferred(lives_[IndexOf(event.storage)].birth)) return false;
      const bool is_free = event.kind == MemoryEvent::Kind::kFree;
      if (is_free && is_sum_[IndexOf(event.storage)]) return false;
    }
    return starts_.size() < 2 || IsMade(event.storage) || !is_in_batch;
  }

  void BeforeNode(NodeId id) override {
    if (id == passes_.first) {
      if (!starts_.empty()) Renew();
      starts_.push_back(builder().num_nodes());
    }
    for (const AddedGradient& gradient : deferred_.gradients) {
      if (gradient.packs == id) AddConverted(gradient);
    }
  }

  /// Adds to the sum in the type of the reduction, which the first batch makes.
  void AddConverted(const AddedGradient& gradient) {
    if (starts_.size() > 1) {
      AddToSum(gradient.storage, gradient.writer);
      return;
    }
    for (const ValueId output : graph().node(gradient.writer).outputs) {
      const Value& value = graph().value(output);
      if (value.storage != gradient.storage) continue;
      const Storage& storage = graph().storage(gradient.storage);
      const TensorType type{gradient.dtype, value.type.shape};
      const ValueId sum =
          AddTensor({.target = "_to_copy",
                     .inputs = {ValueNow(output)},
                     .types = {type},
                     .storages = {},
                     .scope = graph().node(gradient.writer).scope},
                    type.Bytes(), storage.role, storage.label + ".sum");
      Free(StorageNow(gradient.storage));
      SetStorage(gradient.storage, builder().value(sum).storage);
      SetValue(output, sum);
    }
  }

  /// The next batch makes storages of its own.
  void Renew() {
    left_.clear();
    for (StorageId id = 0; id < std::ssize(graph().storages()); ++id) {
      const StorageId now = StorageNow(id);
      if (now == kNone || !IsMade(id)) continue;
      if (IsDeferred(lives_[IndexOf(id)].birth)) continue;
      if (is_sum_[IndexOf(id)]) {
        sums_[id] = now;
      } else if (IsLeft(id)) {
        left_.push_back({.storage = now, .until = EndOf(id)});
      }
      const Storage& storage = graph().storage(id);
      SetStorage(
          id, builder().AddStorage(storage.bytes, storage.role, storage.label));
    }
    for (const auto& [storage, writer] : writers_) {
      if (writer == kNone) continue;
      for (const ValueId output : graph().node(writer).outputs) {
        added_to_[output] = ValueNow(output);
      }
    }
  }

  void AfterNode(NodeId id) override {
    if (starts_.size() > 1 && passes_.Have(id)) {
      for (const LeftOver& one : left_) {
        if (one.until == id) Free(one.storage);
      }
      for (const auto& [storage, writer] : writers_) {
        if (writer == id && !IsConverted(storage)) AddToSum(storage, id);
      }
    }
    if (IsLastRound() && id + 1 == passes_.end) {
      starts_.push_back(builder().num_nodes());
    }
  }

  bool IsConverted(StorageId storage) const {
    return std::ranges::any_of(
        deferred_.gradients, [storage](const AddedGradient& one) {
          return one.storage == storage && one.packs != kNone;
        });
  }

  void AddToSum(StorageId storage, NodeId writer) {
    const StorageId sum = sums_.at(storage);
    for (const ValueId output : graph().node(writer).outputs) {
      const Value& value = graph().value(output);
      if (value.storage != storage) continue;
      const ValueId before = added_to_.at(output);
      SetValue(output, Add({.target = "add_",
                            .inputs = {before, ValueNow(output)},
                            .types = {builder().value(before).type},
                            .storages = {sum},
                            .phase = Phase::kBackward,
                            .scope = graph().node(writer).scope})
                           .front());
    }
    Free(StorageNow(storage));
    SetStorage(storage, sum);
  }

  inline static const ParallelSpec kOneGpu = {};
  int rounds_;
  Passes passes_;
  std::vector<StorageLife> lives_;
  DeferredReduction deferred_;           ///< Empty: each batch reduces.
  std::vector<bool> is_sum_;             ///< By storage.
  std::map<StorageId, NodeId> writers_;  ///< Of sums.
  std::map<StorageId, StorageId> sums_;  ///< In the new graph.
  std::map<ValueId, ValueId> added_to_;  ///< Likewise.
  std::vector<LeftOver> left_;
  std::vector<NodeId> starts_;
};

}  // namespace

OperatorGraph AccumulateShards(const OperatorGraph& graph, int batches,
                               bool no_sync) {
  if (batches < 2) return graph;
  // The last batch, which alone reduces, follows those that are repeated.
  const int last = no_sync ? 1 : 0;
  const int traced = kTracedBatches + last;
  ShardAccumulation step(
      graph, std::min(batches, traced),
      no_sync ? FindDeferredReduction(graph) : DeferredReduction{});
  OperatorGraph first = step.Rewrite();
  if (batches <= traced) return first;
  const std::vector<NodeId>& starts = step.starts();
  return AddBatches(
      first, {.previous = starts[1], .last = starts[2], .end = starts[3]},
      batches - last);
}

}  // namespace foretell::parallel
