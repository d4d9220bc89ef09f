#include "src/runtime/compile/join_regions.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "src/core/failure.h"
#include "src/graph/compiled_call.h"
#include "src/graph/copy_node.h"
#include "src/graph/index_of.h"
#include "src/graph/node_events.h"
#include "src/runtime/compile/discarded_sources.h"
#include "src/runtime/compile/recorded_lives.h"
#include "src/runtime/compile/storage_lives.h"

// A storage dies with its last reader, and not before
//
//   the eager operator during which it dies in the step: Python or autograd
//   has held it until then
//   the end of the compiled call that it is handed to
//   the end, if it never dies in the step
//
// What dies in the step during an operator that is now compiled was held by
// that operator, which may not need it any more.

namespace foretell::runtime {
namespace {

using Kind = MemoryEvent::Kind;

/// A graph whose nodes are copied one after the other.
struct Part {
  explicit Part(const OperatorGraph& from)
      : graph(from),
        now(from.values().size(), kNone),
        storage_of(from.storages().size(), kNone) {}

  const OperatorGraph& graph;
  std::vector<ValueId> now;           ///< By value.
  std::vector<StorageId> storage_of;  ///< By storage: the latest.
};

class RegionJoiner {
 public:
  RegionJoiner(const OperatorGraph& step, const Regions& regions,
               const std::vector<std::optional<Region>>& compiled)
      : regions_(regions),
        compiled_(compiled),
        info_(InfoOf(step, compiled)),
        builder_(info_),
        lives_(builder_),
        step_(step),
        recorded_(RecordedLives(step)) {
    builder_.SetParameterElements(step.ParameterElements());
  }

  OperatorGraph Run() {
    AddLeft();
    AddSources();
    const int count = static_cast<int>(compiled_.size());
    for (int i = 0; i < count; ++i) AddPass(i, Phase::kForward);
    forward_end_ = builder_.num_nodes() - 1;
    for (int i = count; i-- > 0;) AddPass(i, Phase::kBackward);
    AddEager(kNone, Phase::kOptimizer);
    for (const ValueId id : step_.graph.inputs()) {
      builder_.MarkInput(step_.now[IndexOf(id)]);
    }
    for (const ValueId id : step_.graph.outputs()) {
      builder_.MarkOutput(step_.now[IndexOf(id)]);
    }
    for (const StorageId held : held_) KeepUntil(held, forward_end_);
    UnmarkSaved();
    lives_.WriteEvents();
    return builder_.Build();
  }

 private:
  static GraphInfo InfoOf(const OperatorGraph& step,
                          const std::vector<std::optional<Region>>& compiled) {
    GraphInfo info = step.info();
    const auto first = std::ranges::find_if(
        compiled, [](const auto& region) { return region.has_value(); });
    info.runtime = (*first)->graph.info().runtime;
    return info;
  }

  bool IsEager(int region) const {
    return region == kNone || !compiled_[static_cast<std::size_t>(region)];
  }
  bool RunsEagerly(NodeId id) const {
    return IsEager(regions_.of_node[IndexOf(id)]);
  }

  void AddLeft() {
    for (const StorageId id : LeftByEarlierSteps(step_.graph)) {
      const StorageId now = StorageNow(step_, id);
      if (!recorded_[IndexOf(id)].is_freed) lives_.KeepForever(now);
    }
  }

  /// A source that is not there from the start is what an operator keeps for
  /// its backward pass.
  void AddSources() {
    const OperatorGraph& step = step_.graph;
    const std::set<std::string> discarded = FindDiscarded();
    for (ValueId id = 0; id < std::ssize(step.values()); ++id) {
      const Value& value = step.value(id);
      step_value_[value.name] = id;
      if (value.producer != kNone || discarded.contains(value.name)) continue;
      const NodeId birth = recorded_[IndexOf(value.storage)].birth;
      if (birth != kNone && !RunsEagerly(birth)) continue;
      const ValueId now =
          builder_.AddSource(value.name, value.type,
                             StorageNow(step_, value.storage), value.strides);
      step_.now[IndexOf(id)] = now;
      if (birth == kNone) lives_.KeepForever(builder_.value(now).storage);
    }
  }

  std::set<std::string> FindDiscarded() const {
    const bool discards =
        IsFrozen(info_) && info_.runtime.freezing == Freezing::kDiscard;
    if (!discards) return {};
    return DiscardedSources(step_.graph, regions_, compiled_);
  }

  StorageId StorageNow(Part& part, StorageId id) {
    StorageId& now = part.storage_of[IndexOf(id)];
    if (now == kNone) now = lives_.Add(part.graph.storage(id));
    return now;
  }

  void KeepUntil(StorageId now, NodeId node) {
    lives_.KeepUntil(now, {node, kAfterAll});
  }

  void AddPass(int region, Phase phase) {
    if (IsEager(region)) return AddEager(region, phase);
    Part& part = PartOf(region);
    FindSources(part);
    const NodeId first = builder_.num_nodes();
    for (NodeId id = 0; id < std::ssize(part.graph.nodes()); ++id) {
      if (part.graph.node(id).phase == phase) AddKernel(part, id);
    }
    AddResults(region, phase);
    if (builder_.num_nodes() == first) return;
    KeepOperands(part, phase);
    FreeLeft(region, phase, first);
  }

  Part& PartOf(int region) {
    const Region& compiled = *compiled_[static_cast<std::size_t>(region)];
    return parts_.try_emplace(region, compiled.graph).first->second;
  }

  /// By their names in the step; again before each pass, because other regions
  /// have made more of them by then.
  void FindSources(Part& part) {
    begins_ = true;
    for (ValueId id = 0; id < std::ssize(part.graph.values()); ++id) {
      const Value& value = part.graph.value(id);
      if (value.producer != kNone) continue;
      const auto known = step_value_.find(value.name);
      if (known == step_value_.end()) {
        AddConstant(part, id);
        continue;
      }
      const ValueId now = step_.now[IndexOf(known->second)];
      part.now[IndexOf(id)] = now;
      if (now != kNone) {
        part.storage_of[IndexOf(value.storage)] = builder_.value(now).storage;
      }
    }
  }

  /// A constant of the region's own.
  void AddConstant(Part& part, ValueId id) {
    ValueId& now = part.now[IndexOf(id)];
    if (now != kNone) return;
    const Value& value = part.graph.value(id);
    now = builder_.AddSource({}, value.type, StorageNow(part, value.storage),
                             value.strides);
    lives_.KeepForever(builder_.value(now).storage);
  }

  void AddKernel(Part& part, NodeId id) {
    const Node& node = part.graph.node(id);
    NodeChange change;
    if (begins_ && node.kind != OpKind::kView) {
      begins_ = false;
      change.further = CallOf(part.graph);
    }
    const NodeId added = Copy(part, id, change);
    ForEachRead(node, [&](ValueId read) {
      if (part.now[IndexOf(read)] == kNone) return;
      const Value& now = NowIn(part, read);
      KeepUntil(now.storage, added);
      if (part.graph.value(read).producer == kNone) Save(now, node.phase);
    });
  }

  static Attributes CallOf(const OperatorGraph& region) {
    return {
        {std::string(kCallAttribute),
         std::vector<std::int64_t>{CountSources(region, TensorRole::kParameter),
                                   CountSources(region, TensorRole::kBuffer)}}};
  }

  template <typename Visit>
  static void ForEachRead(const Node& node, const Visit& visit) {
    std::ranges::for_each(node.inputs, visit);
    for (const Node& call : node.calls) {
      std::ranges::for_each(call.inputs, visit);
    }
  }

  const Value& NowIn(const Part& part, ValueId id) const {
    return builder_.value(part.now[IndexOf(id)]);
  }

  NodeId Copy(Part& part, NodeId id, const NodeChange& change) {
    const NodeId added = builder_.num_nodes();
    return CopyNode(
        part.graph, id,
        {.parts = {
             .value = [&](ValueId value) { return part.now[IndexOf(value)]; },
             .storage =
                 [&, added](StorageId one) {
                   const StorageId now = StorageNow(part, one);
                   lives_.SetBirth(now, {added});
                   if (&part != &step_) KeepUntil(now, added);
                   return now;
                 },
             .name = [](const std::string&) { return std::string(); }},
         .add = [&](ValueId result,
                    ValueId copy) { part.now[IndexOf(result)] = copy; }},
        builder_, change);
  }

  /// Marks what the backward pass reads of another region.
  void Save(const Value& value, Phase phase) {
    if (phase == Phase::kBackward && value.producer != kNone &&
        value.producer <= forward_end_ &&
        builder_.storage(value.storage).role == TensorRole::kActivation) {
      builder_.SetRole(value.storage, TensorRole::kSaved);
    }
  }

  /// What only operators that are compiled now have saved.
  void UnmarkSaved() {
    for (const StorageId now : step_.storage_of) {
      if (now == kNone || lives_.Outlives(now, forward_end_)) continue;
      if (builder_.storage(now).role != TensorRole::kSaved) continue;
      builder_.SetRole(now, TensorRole::kActivation);
    }
  }

  void AddResults(int region, Phase phase) {
    const Region& compiled = *compiled_[static_cast<std::size_t>(region)];
    if (compiled.results.size() != compiled.graph.outputs().size()) {
      throw InternalFailure("region {}: {} results became {}", region,
                            compiled.results.size(),
                            compiled.graph.outputs().size());
    }
    const Part& part = PartOf(region);
    for (std::size_t i = 0; i < compiled.results.size(); ++i) {
      const ValueId now = part.now[IndexOf(compiled.graph.outputs()[i])];
      const ValueId id = step_value_.at(compiled.results[i]);
      if (now == std::exchange(step_.now[IndexOf(id)], now)) continue;
      if (now == kNone) continue;
      const StorageId storage = builder_.value(now).storage;
      const StorageId was = step_.graph.value(id).storage;
      step_.storage_of[IndexOf(was)] = storage;
      if (!recorded_[IndexOf(was)].is_freed) lives_.KeepForever(storage);
      if (phase == Phase::kForward && CompilesAll()) held_.push_back(storage);
    }
  }

  /// Whether the network is compiled, not modules of it.
  bool CompilesAll() const {
    return std::ranges::count(regions_.is_compiled, false) == 0;
  }

  /// The caller has them until the forward pass returns.
  void KeepOperands(const Part& part, Phase phase) {
    if (phase != Phase::kForward) return;
    for (ValueId id = 0; id < std::ssize(part.graph.values()); ++id) {
      if (part.graph.value(id).producer != kNone) continue;
      if (part.now[IndexOf(id)] == kNone) continue;
      KeepUntil(NowIn(part, id).storage, builder_.num_nodes() - 1);
    }
  }

  /// What an earlier step has left and the step frees in this pass.
  void FreeLeft(int region, Phase phase, NodeId first) {
    for (const MemoryEvent& event : step_.graph.events()) {
      if (event.node == kNone || event.kind == Kind::kAllocate ||
          regions_.of_node[IndexOf(event.node)] != region ||
          step_.graph.node(event.node).phase != phase ||
          recorded_[IndexOf(event.storage)].birth != kNone) {
        continue;
      }
      KeepUntil(StorageNow(step_, event.storage), first);
    }
  }

  /// Operators of an eager region, or with kNone of the optimizer.
  void AddEager(int region, Phase phase) {
    for (NodeId id = 0; id < std::ssize(step_.graph.nodes()); ++id) {
      if (regions_.of_node[IndexOf(id)] == region &&
          step_.graph.node(id).phase == phase) {
        AddEager(id);
      }
    }
  }

  void AddEager(NodeId id) {
    const Node& node = step_.graph.node(id);
    const NodeId added = builder_.num_nodes();
    for (const ValueId input : node.inputs) {
      step_.storage_of[IndexOf(step_.graph.value(input).storage)] =
          NowIn(step_, input).storage;
    }
    const std::map<StorageId, int> freed = PlayEvents(id, added);
    Copy(step_, id, {.further = EagerMark(node)});
    ForEachRead(node, [&](ValueId read) {
      if (step_.now[IndexOf(read)] == kNone) return;
      const Value& now = NowIn(step_, read);
      const auto found = freed.find(now.storage);
      lives_.KeepUntil(
          now.storage,
          {added, found == freed.end() ? kAfterAll : found->second});
      Save(now, node.phase);
    });
  }

  /// The events of the step during `id`. Returns the place of each free, by
  /// storage of the new graph.
  std::map<StorageId, int> PlayEvents(NodeId id, NodeId added) {
    const std::span<const MemoryEvent> events = EventsOf(step_.graph, id);
    std::map<StorageId, int> freed;
    for (int place = 0; std::cmp_less(place, events.size()); ++place) {
      const MemoryEvent& event = events[static_cast<std::size_t>(place)];
      const StorageId now = StorageNow(step_, event.storage);
      if (event.kind == Kind::kFree) {
        lives_.KeepUntil(now, {added, place});
        freed[now] = place;
        continue;
      }
      lives_.SetBirth(now, {added, place});
      if (!recorded_[IndexOf(event.storage)].is_freed) lives_.KeepForever(now);
    }
    return freed;
  }

  static Attributes EagerMark(const Node& node) {
    if (node.phase == Phase::kOptimizer) return {};
    return {{std::string(kEagerAttribute), true}};
  }

  const Regions& regions_;
  const std::vector<std::optional<Region>>& compiled_;
  const GraphInfo info_;
  GraphBuilder builder_;
  StorageLives lives_;
  Part step_;
  std::map<int, Part> parts_;  ///< By compiled region.
  std::map<std::string, ValueId> step_value_;
  std::vector<RecordedLife> recorded_;  ///< By storage of the step.
  std::vector<StorageId> held_;         ///< Handed on in the forward pass.
  NodeId forward_end_ = kNone;          ///< Its last node, once it is there.
  bool begins_ = true;                  ///< No kernel of the pass yet.
};

}  // namespace

OperatorGraph JoinRegions(const OperatorGraph& step, const Regions& regions,
                          const std::vector<std::optional<Region>>& compiled) {
  return RegionJoiner(step, regions, compiled).Run();
}

}  // namespace foretell::runtime
