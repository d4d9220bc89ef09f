#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "foretell/graph.h"
#include "foretell/parallel.h"
#include "src/graph/index_of.h"
#include "src/graph/strides.h"
#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// Rewrites a step, node by node and event by event, and lets a plan insert the
/// work for several GPUs. Drops storages that live only before the first node,
/// which an earlier step left.
class StepRewriter {
 public:
  StepRewriter(const OperatorGraph& graph, const ParallelSpec& spec);
  virtual ~StepRewriter() = default;
  StepRewriter(const StepRewriter&) = delete;
  StepRewriter& operator=(const StepRewriter&) = delete;

  /// Called once.
  OperatorGraph Rewrite();
  /// What the new graph trains, once it is made: those of `trained` that one
  /// GPU has.
  std::vector<TrainedParameter> TrainedNow(
      std::span<const TrainedParameter> trained) const;

 protected:
  /// A node that a plan adds: its tensors in the new graph, and its result's
  /// types, each in the storage of the same index.
  struct Added {
    std::string target;
    std::vector<ValueId> inputs;
    std::vector<TensorType> types;
    std::vector<StorageId> storages;
    Phase phase = Phase::kBackward;
    std::string scope = {};
    Attributes attributes = {};
    std::vector<Strides> strides = {};  ///< By result; absent: row-major.
    int group = 0;  ///< GPUs that exchange; 0: all of the plan.
  };

  /// Called after the storages and sources are added, before the first event.
  virtual void Begin() {}
  /// The graph's nodes that one GPU runs, in its order; all by default.
  virtual std::vector<NodeId> Order() const;
  virtual void BeforeNode(NodeId /*id*/) {}
  /// After the node's events.
  virtual void AfterNode(NodeId /*id*/) {}
  /// Bytes of a storage on one GPU; empty: the plan has no part of it.
  virtual std::optional<std::int64_t> BytesOf(StorageId id) const;
  /// One GPU's part of a tensor.
  virtual TensorType TypeOf(ValueId id) const;
  /// Strides of that part: ordered as in the whole tensor.
  Strides StridesOf(ValueId id) const;
  /// True if the event is kept, for a storage that BytesOf has.
  virtual bool Keeps(const MemoryEvent& /*event*/) const { return true; }
  /// True for operands and results that one GPU has; a node without any is
  /// dropped.
  virtual bool HasOperand(const Node& /*node*/, std::size_t /*i*/) const {
    return true;
  }
  virtual bool HasResult(const Node& /*node*/, std::size_t /*i*/) const {
    return true;
  }
  virtual Attributes AttributesOf(NodeId id) const {
    return graph_.node(id).attributes;
  }
  /// Of a result of a node that is being added, by its name in the graph.
  virtual std::string NameNow(const std::string& name) const { return name; }

  const OperatorGraph& graph() const { return graph_; }
  const ParallelSpec& spec() const { return spec_; }
  GraphBuilder& builder() { return builder_; }
  NodeId Current() const { return builder_.num_nodes() - 1; }
  /// The storage in the new graph; kNone if it is absent there.
  StorageId StorageNow(StorageId id) const { return storage_of_[IndexOf(id)]; }
  void SetStorage(StorageId id, StorageId now) {
    storage_of_[IndexOf(id)] = now;
  }
  /// The tensor that replaces a tensor of the graph, added as a source if it is
  /// new.
  ValueId ValueNow(ValueId id);
  void SetValue(ValueId id, ValueId now) { value_of_[IndexOf(id)] = now; }
  std::string FreshName(std::string name);

  /// Adds a storage that is allocated during the newest node.
  StorageId Allocate(std::int64_t bytes, TensorRole role,
                     const std::string& label);
  void Free(StorageId storage) { builder_.Free(storage, Current()); }
  /// Results of the node in their order.
  std::vector<ValueId> Add(Added added);
  /// Adds a node whose one result is in a storage of its own, of `bytes`, that
  /// is allocated during it; `added` has neither storages nor more types.
  ValueId AddTensor(Added added, std::int64_t bytes, TensorRole role,
                    std::string label);
  /// Adds an exchange of `bytes` (src/graph/collective.h) between the GPUs,
  /// with its attributes before those of `added`.
  std::vector<ValueId> AddCollective(std::string_view target,
                                     std::int64_t bytes, Added added);

  /// Sums all GPUs' parts of `id` into a separate tensor, which then replaces
  /// `id`.
  void AddUp(ValueId id);

 private:
  void AddStorages();
  void AddSources();
  void PlayEvents(NodeId id);
  void AddNode(NodeId id);
  /// Whether one GPU has all of the node's operands and results.
  bool IsWhole(const Node& node) const;
  void AddCalls(NodeId id, NodeId added);
  void MarkEnds();

  const OperatorGraph& graph_;
  const ParallelSpec& spec_;
  GraphBuilder builder_;
  std::vector<ValueId> value_of_;      ///< By value of the graph.
  std::vector<StorageId> storage_of_;  ///< By storage of the graph.
  std::unordered_set<std::string> names_;
};

}  // namespace foretell::parallel
