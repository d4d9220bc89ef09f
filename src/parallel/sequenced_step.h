#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/recompute_plan.h"
#include "src/parallel/sequence_region.h"
#include "src/parallel/step_facts.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {

/// A storage of the step in the new graph: one GPU's tokens, or all.
struct SequenceCopy {
  StorageId storage = kNone;  ///< kNone: it is not there.
  std::map<ValueId, ValueId> values = {};
};

/// A reader of a storage, in order.
struct SequenceUse {
  NodeId node = kNone;
  bool is_part = false;
  bool is_written = false;
};

/// A storage of which some nodes read tokens and others all of it.
struct SharedStorage {
  SequenceCopy part = {};
  SequenceCopy whole = {};
  std::vector<SequenceUse> uses = {};
};

/// Rewrites a step of tensor parallelism for tokens of each GPU's own:
/// sequence_parallel.cc has the order of events, sequence_copies.cc which copy
/// of a storage a node reads, sequence_exchanges.cc the exchanges that make
/// them.
class SequencedStep final : public StepRewriter {
 public:
  SequencedStep(const OperatorGraph& graph, const ParallelSpec& spec,
                std::span<const TrainedParameter> trained)
      : StepRewriter(graph, spec),
        region_(graph, spec),
        last_forward_(StepFacts(graph, trained).last_forward),
        lives_(StorageLives(graph)),
        base_(graph.storages().size(), kNone),
        ends_(graph.nodes().size()) {
    for (ValueId id = 0; id < std::ssize(graph.values()); ++id) {
      ValueId& base = base_[IndexOf(graph.value(id).storage)];
      if (base == kNone) base = id;
    }
    FindShared();
  }

 private:
  bool IsOfTokens(NodeId id) const {
    const SequenceWork work = region_.WorkOf(id);
    return work == SequenceWork::kTokens || work == SequenceWork::kScatter;
  }
  /// Whether the value is made by tokens.
  bool IsMadeAsPart(ValueId id) const;
  bool IsBornAsPart(StorageId id) const;
  bool ReadsPart(NodeId node, ValueId input) const {
    return region_.At(input) && region_.WorkOf(node) == SequenceWork::kTokens;
  }

  std::optional<std::int64_t> BytesOf(StorageId id) const override;
  TensorType PartType(ValueId id) const;
  TensorType TypeOf(ValueId id) const override {
    return IsMadeAsPart(id) ? PartType(id) : graph().value(id).type;
  }
  bool IsReplaced(NodeId id) const {
    const SequenceWork work = region_.WorkOf(id);
    return work == SequenceWork::kDefer || work == SequenceWork::kScatter;
  }
  bool HasResult(const Node& node, std::size_t i) const override {
    return !IsReplaced(graph().value(node.outputs[i]).producer);
  }
  /// Storages in two copies end in AfterNode, terms of a sum where the sum
  /// would.
  bool Keeps(const MemoryEvent& event) const override;
  void BeforeNode(NodeId id) override;
  void AfterNode(NodeId id) override;

  /// @name Copies of a storage
  /// @{
  void FindShared();
  /// The node has made `id`.
  void NoteResult(ValueId id, const Node& node);
  /// Frees what nothing reads before it is made again.
  void Release(SharedStorage& shared, NodeId id);
  void End(SequenceCopy& copy) {
    if (copy.storage != kNone) Free(copy.storage);
    copy = {};
  }
  /// The value in the copy that `node` reads, which is made if it is missing.
  ValueId WholeOf(ValueId id, const Node& node);
  ValueId PartOf(ValueId id, const Node& node);
  /// @}

  /// @name Exchanges, as nodes before `node`
  /// @{
  /// Where an exchange leaves its result.
  struct Result {
    TensorType type;
    StorageId storage = kNone;
  };
  const Storage& StorageOf(ValueId id) const {
    return graph().storage(graph().value(id).storage);
  }
  /// A node like `node` with one result of the type in a storage of its own.
  ValueId AddLike(ValueId id, std::string target, std::vector<ValueId> inputs,
                  const TensorType& type, const Node& node);
  /// Exchanges the whole tensor `id`, of which `input` has all or a part.
  ValueId Exchange(std::string_view target, ValueId id, ValueId input,
                   Result result, const Node& node);
  ValueId ViewOf(const SequenceCopy& copy, const TensorType& type,
                 const Node& node);
  /// The sum goes to new storages, of one GPU's tokens.
  void ScatterSum(const Node& node);
  /// A term of a sum that is left to a later exchange stands for the sum.
  void PassTerm(const Node& node);
  ValueId Gather(ValueId id, SharedStorage& shared, const Node& node);
  ValueId Slice(ValueId id, ValueId whole, const Node& node);
  ValueId Scatter(ValueId id, ValueId whole, const Node& node);
  /// Gradients that are sums over each GPU's tokens.
  void SumGradients();
  /// @}

  SequenceRegion region_;
  NodeId last_forward_;
  std::vector<StorageLife> lives_;            ///< By storage.
  std::vector<ValueId> base_;                 ///< By storage: its first value.
  std::vector<std::vector<StorageId>> ends_;  ///< By node: shared storages.
  std::map<StorageId, SharedStorage> shared_;
  std::vector<StorageId> copies_;  ///< To free after the node.
  std::vector<StorageId> held_;    ///< Arguments of modules that run.
  std::vector<ValueId> sums_;      ///< Gradients of one GPU's tokens.
};

}  // namespace foretell::parallel
