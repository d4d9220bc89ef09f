#include "src/parallel/sequence_parallel.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/sequence_region.h"
#include "src/parallel/step_facts.h"
#include "src/parallel/step_rewriter.h"

// SequenceParallel of norms and dropouts between ColwiseParallel with
// input_layouts=Shard(1) and RowwiseParallel with output_layouts=Shard(1),
// PyTorch 2.13, as torchtitan combines them. An exchange along a dimension that
// is not the first copies: gathered pieces are put side by side, and pieces to
// be scattered one after another (all_gather_tensor and reduce_scatter_tensor
// of torch/distributed/_functional_collectives.py).
//
// Layers that read the same tensor gather it once and scatter the sum of their
// gradients once (PrepareModuleInput). What was gathered is what autograd
// saves; a GPU's own tokens, an argument of the module that gathers, live until
// it returns. Gradients of norms are sums of each GPU's tokens, which the
// optimizer adds up when it reads them.

namespace foretell::parallel {
namespace {

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

/// A storage that some read by tokens and others whole.
struct SharedStorage {
  SequenceCopy part = {};
  SequenceCopy whole = {};
  std::vector<SequenceUse> uses = {};
};

class SequencedStep final : public StepRewriter {
 public:
  SequencedStep(const OperatorGraph& graph, const ParallelSpec& spec,
                std::span<const TrainedParameter> trained)
      : StepRewriter(graph, spec),
        region_(graph, spec),
        last_forward_(StepFacts(graph, trained).last_forward),
        births_(graph.storages().size(), kNone),
        base_(graph.storages().size(), kNone),
        ends_(graph.nodes().size()) {
    for (const MemoryEvent& event : graph.events()) {
      if (event.kind == MemoryEvent::Kind::kAllocate) {
        births_[IndexOf(event.storage)] = event.node;
      }
    }
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
  bool IsMadeAsPart(ValueId id) const {
    const Value& value = graph().value(id);
    if (!region_.At(id)) return false;
    return value.producer == kNone ? births_[IndexOf(value.storage)] != kNone
                                   : IsOfTokens(value.producer);
  }
  bool IsBornAsPart(StorageId id) const {
    const ValueId base = base_[IndexOf(id)];
    if (base != kNone) return IsMadeAsPart(base);
    const NodeId birth = births_[IndexOf(id)];
    return birth != kNone && IsOfTokens(birth);
  }
  bool ReadsPart(NodeId node, ValueId input) const {
    return region_.At(input) && region_.WorkOf(node) == SequenceWork::kTokens;
  }

  void FindShared() {
    std::map<StorageId, std::vector<SequenceUse>> uses;
    for (NodeId id = 0; id < std::ssize(graph().nodes()); ++id) {
      const Node& node = graph().node(id);
      for (const ValueId input : node.inputs) {
        const StorageId storage = graph().value(input).storage;
        const bool is_written =
            node.kind != OpKind::kView &&
            std::ranges::any_of(node.outputs, [&](ValueId output) {
              return graph().value(output).storage == storage;
            });
        uses[storage].push_back({id, ReadsPart(id, input), is_written});
      }
    }
    for (auto& [storage, list] : uses) {
      const bool is_part = IsBornAsPart(storage);
      const bool is_other = std::ranges::any_of(
          list,
          [is_part](const SequenceUse& use) { return use.is_part != is_part; });
      if (is_other) shared_[storage] = {.uses = std::move(list)};
    }
    for (const MemoryEvent& event : graph().events()) {
      const bool is_end = event.kind == MemoryEvent::Kind::kFree;
      if (is_end && event.node != kNone && shared_.contains(event.storage)) {
        ends_[IndexOf(event.node)].push_back(event.storage);
      }
    }
  }

  std::optional<std::int64_t> BytesOf(StorageId id) const override {
    const ValueId base = base_[IndexOf(id)];
    const NodeId producer =
        base == kNone ? kNone : graph().value(base).producer;
    if (producer != kNone && region_.WorkOf(producer) == SequenceWork::kDefer) {
      return std::nullopt;
    }
    const std::int64_t bytes = graph().storage(id).bytes;
    return IsBornAsPart(id) ? bytes / spec().gpus : bytes;
  }

  TensorType PartType(ValueId id) const {
    TensorType type = graph().value(id).type;
    type.shape[IndexOf(region_.At(id)->dim)] /= spec().gpus;
    return type;
  }
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
  /// Storages in two copies end in EndCopies, terms of a sum where the sum
  /// would.
  bool Keeps(const MemoryEvent& event) const override {
    if (event.node == kNone) return true;
    const bool is_free = event.kind == MemoryEvent::Kind::kFree;
    if (region_.WorkOf(event.node) == SequenceWork::kDefer) return false;
    return !is_free || !shared_.contains(event.storage);
  }

  void BeforeNode(NodeId id) override {
    const Node& node = graph().node(id);
    if (node.phase == Phase::kOptimizer) SumGradients();
    const SequenceWork work = region_.WorkOf(id);
    if (work == SequenceWork::kScatter) ScatterSum(node);
    if (work == SequenceWork::kDefer) PassTerm(node);
    if (IsReplaced(id)) return;
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph().value(input).storage;
      const auto shared = shared_.find(storage);
      if (shared == shared_.end()) continue;
      const bool is_part = ReadsPart(id, input);
      SetValue(input, is_part ? PartOf(input, node) : WholeOf(input, node));
      SetStorage(storage, is_part ? shared->second.part.storage
                                  : shared->second.whole.storage);
    }
  }

  void AfterNode(NodeId id) override {
    const Node& node = graph().node(id);
    for (const StorageId copy : std::exchange(copies_, {})) Free(copy);
    for (const ValueId output : node.outputs) NoteResult(output, node);
    for (const ValueId value : node.inputs) {
      const auto shared = shared_.find(graph().value(value).storage);
      if (shared != shared_.end()) Release(shared->second, id);
    }
    for (const StorageId storage : ends_[IndexOf(id)]) {
      End(shared_.at(storage).part);
      End(shared_.at(storage).whole);
    }
    const bool returns = region_.WorkOf(id) == SequenceWork::kScatter;
    if (returns || id == last_forward_) {
      for (const StorageId held : std::exchange(held_, {})) Free(held);
    }
    const bool is_sum = region_.WorkOf(id) == SequenceWork::kTokens &&
                        node.phase == Phase::kBackward;
    for (const ValueId output : node.outputs) {
      if (is_sum && !region_.At(output)) sums_.push_back(output);
    }
  }

  void End(SequenceCopy& copy) {
    if (copy.storage != kNone) Free(copy.storage);
    copy = {};
  }

  void NoteResult(ValueId id, const Node& node) {
    const StorageId storage = graph().value(id).storage;
    const auto shared = shared_.find(storage);
    if (shared == shared_.end()) return;
    const bool is_part = IsMadeAsPart(id);
    SequenceCopy& mine = is_part ? shared->second.part : shared->second.whole;
    SequenceCopy& other = is_part ? shared->second.whole : shared->second.part;
    mine.storage = StorageNow(storage);
    mine.values[id] = ValueNow(id);
    if (node.kind != OpKind::kView) End(other);
  }

  /// Frees what nothing reads before it is made again.
  void Release(SharedStorage& shared, NodeId id) {
    if (shared.part.storage == kNone || shared.whole.storage == kNone) return;
    bool needs_part = false;
    bool needs_whole = false;
    bool is_current = true;
    for (const SequenceUse& use : shared.uses) {
      if (use.node <= id) continue;
      needs_part |= use.is_part || !is_current;
      needs_whole |= !use.is_part && is_current;
      is_current &= !use.is_written;
    }
    if (!needs_whole) {
      End(shared.whole);
    } else if (!needs_part && id <= last_forward_) {
      held_.push_back(std::exchange(shared.part, {}).storage);
    } else if (!needs_part) {
      End(shared.part);
    }
  }

  const std::string& LabelOf(ValueId id) const {
    return graph().storage(graph().value(id).storage).label;
  }
  TensorRole RoleOf(ValueId id) const {
    return graph().storage(graph().value(id).storage).role;
  }
  /// A node like `node` with one result of the type in a storage of its own.
  ValueId AddLike(ValueId id, std::string target, std::vector<ValueId> inputs,
                  const TensorType& type, const Node& node) {
    return AddTensor({.target = std::move(target),
                      .inputs = std::move(inputs),
                      .types = {type},
                      .storages = {},
                      .phase = node.phase,
                      .scope = node.scope},
                     type.Bytes(), RoleOf(id), LabelOf(id) + ".tokens");
  }
  /// Where an exchange leaves its result.
  struct Result {
    TensorType type;
    StorageId storage = kNone;
  };
  /// Exchanges the whole tensor `id`, of which `input` has all or a part.
  ValueId Exchange(std::string_view target, ValueId id, ValueId input,
                   Result result, const Node& node) {
    return AddCollective(target, graph().value(id).type.Bytes(),
                         {.target = {},
                          .inputs = {input},
                          .types = {std::move(result.type)},
                          .storages = {result.storage},
                          .phase = node.phase,
                          .scope = node.scope})
        .front();
  }
  ValueId ViewOf(const SequenceCopy& copy, const TensorType& type,
                 const Node& node) {
    return Add({.target = "view",
                .inputs = {copy.values.begin()->second},
                .types = {type},
                .storages = {copy.storage},
                .phase = node.phase,
                .scope = node.scope})
        .front();
  }

  /// The sum goes to new storages, of one GPU's tokens.
  void ScatterSum(const Node& node) {
    const ValueId sum = node.outputs.front();
    const ValueId pieces = AddLike(sum, "cat", {ValueNow(node.inputs.front())},
                                   graph().value(sum).type, node);
    copies_.push_back(builder().value(pieces).storage);
    SetValue(sum,
             Exchange(kReduceScatter, sum, pieces,
                      {PartType(sum), StorageNow(graph().value(sum).storage)},
                      node));
  }

  void PassTerm(const Node& node) {
    const ValueId term = node.inputs.front();
    const ValueId sum = node.outputs.front();
    SetValue(sum, ValueNow(term));
    SetStorage(graph().value(sum).storage,
               StorageNow(graph().value(term).storage));
  }

  ValueId WholeOf(ValueId id, const Node& node) {
    SharedStorage& shared = shared_.at(graph().value(id).storage);
    SequenceCopy& whole = shared.whole;
    const auto known = whole.values.find(id);
    if (known != whole.values.end()) return known->second;
    if (whole.storage != kNone) {
      return whole.values[id] = ViewOf(whole, graph().value(id).type, node);
    }
    if (shared.part.storage == kNone) {  // A source.
      whole.storage = StorageNow(graph().value(id).storage);
      return whole.values[id] = ValueNow(id);
    }
    return Gather(id, shared, node);
  }

  ValueId Gather(ValueId id, SharedStorage& shared, const Node& node) {
    const TensorType& type = graph().value(id).type;
    const ValueId part = PartOf(id, node);
    const StorageId buffer = builder().AddStorage(type.Bytes(), RoleOf(id),
                                                  LabelOf(id) + ".gathered");
    const ValueId gathered =
        Exchange(kAllGather, id, part, {type, buffer}, node);
    builder().Allocate(buffer, Current());
    const ValueId whole = AddLike(id, "cat", {gathered}, type, node);
    Free(buffer);
    shared.whole.storage = builder().value(whole).storage;
    return shared.whole.values[id] = whole;
  }

  ValueId PartOf(ValueId id, const Node& node) {
    SharedStorage& shared = shared_.at(graph().value(id).storage);
    SequenceCopy& part = shared.part;
    const auto known = part.values.find(id);
    if (known != part.values.end()) return known->second;
    if (part.storage != kNone) {
      return part.values[id] = ViewOf(part, PartType(id), node);
    }
    const ValueId whole = WholeOf(id, node);
    const ValueId mine = region_.IsPartial(id) ? Scatter(id, whole, node)
                                               : Slice(id, whole, node);
    part.storage = builder().value(mine).storage;
    return part.values[id] = mine;
  }

  ValueId Slice(ValueId id, ValueId whole, const Node& node) {
    const TensorType type = PartType(id);
    return AddTensor(
        {.target = "clone",
         .inputs = {whole},
         .types = {type},
         .storages = {},
         .phase = node.phase,
         .scope = node.scope,
         .attributes = {{std::string(kOwnPartAttribute), ToString(spec())}}},
        type.Bytes(), RoleOf(id), LabelOf(id) + ".tokens");
  }

  ValueId Scatter(ValueId id, ValueId whole, const Node& node) {
    const ValueId pieces =
        AddLike(id, "cat", {whole}, graph().value(id).type, node);
    const TensorType type = PartType(id);
    const StorageId result =
        builder().AddStorage(type.Bytes(), RoleOf(id), LabelOf(id) + ".tokens");
    const ValueId part =
        Exchange(kReduceScatter, id, pieces, {type, result}, node);
    builder().Allocate(result, Current());
    Free(builder().value(pieces).storage);
    return part;
  }

  /// Gradients that are sums over each GPU's tokens.
  void SumGradients() {
    for (const ValueId id : std::exchange(sums_, {})) {
      const Value now = builder().value(ValueNow(id));
      SetValue(id, AddCollective(kAllReduce, now.type.Bytes(),
                                 {.target = {},
                                  .inputs = {ValueNow(id)},
                                  .types = {now.type},
                                  .storages = {now.storage},
                                  .phase = Phase::kBackward,
                                  .strides = {now.strides}})
                       .front());
    }
  }

  SequenceRegion region_;
  NodeId last_forward_;
  std::vector<NodeId> births_;                ///< By storage.
  std::vector<ValueId> base_;                 ///< By storage: its first value.
  std::vector<std::vector<StorageId>> ends_;  ///< By node: shared storages.
  std::map<StorageId, SharedStorage> shared_;
  std::vector<StorageId> copies_;  ///< To free after the node.
  std::vector<StorageId> held_;    ///< Arguments of modules that run.
  std::vector<ValueId> sums_;      ///< Gradients of one GPU's tokens.
};

}  // namespace

BorderedStep ShareSequences(const BorderedStep& step,
                            const ParallelSpec& spec) {
  SequencedStep sequenced(step.graph, spec, step.trained);
  BorderedStep shared{.graph = sequenced.Rewrite(), .trained = {}};
  shared.trained = sequenced.TrainedNow(step.trained);
  return shared;
}

}  // namespace foretell::parallel
