#include "src/runtime/compile/join_regions.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/core/failure.h"
#include "src/graph/compiled_call.h"
#include "src/graph/copy_calls.h"
#include "src/graph/index_of.h"

namespace foretell::runtime {
namespace {

/// A graph whose nodes are copied one after the other.
struct Part {
  explicit Part(const OperatorGraph& from)
      : graph(from),
        now(from.values().size(), kNone),
        storage_of(from.storages().size(), kNone) {}

  const OperatorGraph& graph;
  std::vector<ValueId> now;           ///< By value.
  std::vector<StorageId> storage_of;  ///< By storage.
};

class RegionJoiner {
 public:
  RegionJoiner(const OperatorGraph& step, const std::vector<Region>& regions)
      : regions_(regions), builder_(InfoOf(step, regions)), step_(step) {
    builder_.SetParameterElements(step.ParameterElements());
    for (const Region& region : regions) parts_.emplace_back(region.graph);
  }

  OperatorGraph Run() {
    AddSources();
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      AddPass(i, Phase::kForward);
    }
    forward_end_ = builder_.num_nodes() - 1;
    for (std::size_t i = regions_.size(); i-- > 0;) {
      AddPass(i, Phase::kBackward);
    }
    AddOptimizer();
    for (const ValueId id : step_.graph.inputs()) {
      builder_.MarkInput(step_.now[IndexOf(id)]);
    }
    for (const ValueId id : step_.graph.outputs()) {
      builder_.MarkOutput(step_.now[IndexOf(id)]);
      Forever(step_.now[IndexOf(id)]);
    }
    AddEvents();
    return builder_.Build();
  }

 private:
  struct Life {
    NodeId birth = kNone;
    NodeId death = kNone;
    bool forever = false;
  };

  static GraphInfo InfoOf(const OperatorGraph& step,
                          const std::vector<Region>& regions) {
    GraphInfo info = step.info();
    info.runtime = regions.front().graph.info().runtime;
    return info;
  }

  void AddSources() {
    const OperatorGraph& step = step_.graph;
    const std::set<std::string> discarded = FindDiscarded();
    for (ValueId id = 0; id < std::ssize(step.values()); ++id) {
      const Value& value = step.value(id);
      step_value_[value.name] = id;
      if (value.producer != kNone || discarded.contains(value.name)) continue;
      const ValueId now =
          builder_.AddSource(value.name, value.type,
                             StorageNow(step_, value.storage), value.strides);
      step_.now[IndexOf(id)] = now;
      Forever(now);
    }
  }

  /// Parameters and buffers that freezing leaves in no region.
  std::set<std::string> FindDiscarded() const {
    std::set<std::string> names;
    const GraphInfo& info = regions_.front().graph.info();
    if (info.runtime.freezing != Freezing::kDiscard ||
        info.mode == Mode::kTraining) {
      return names;
    }
    for (const Value& value : step_.graph.values()) {
      const TensorRole role = step_.graph.storage(value.storage).role;
      if (value.producer == kNone && IsSourceRole(role)) {
        names.insert(value.name);
      }
    }
    for (const Region& region : regions_) {
      for (const Value& value : region.graph.values()) {
        if (value.producer == kNone) names.erase(value.name);
      }
    }
    return names;
  }

  StorageId StorageNow(Part& part, StorageId id) {
    StorageId& now = part.storage_of[IndexOf(id)];
    if (now == kNone) {
      const Storage& storage = part.graph.storage(id);
      now = builder_.AddStorage(storage.bytes, storage.role, storage.label);
      lives_.emplace_back();
    }
    return now;
  }

  Life& LifeOf(ValueId now) {
    return lives_[IndexOf(builder_.value(now).storage)];
  }
  void Forever(ValueId now) { LifeOf(now).forever = true; }

  void AddPass(std::size_t region, Phase phase) {
    Part& part = parts_[region];
    FindSources(part);
    bool begins = true;
    for (NodeId id = 0; id < std::ssize(part.graph.nodes()); ++id) {
      const Node& node = part.graph.node(id);
      if (node.phase != phase) continue;
      const bool is_first = begins && node.kind != OpKind::kView;
      begins = begins && !is_first;
      Copy(part, id, is_first ? CallOf(part.graph) : Attributes());
    }
    const std::vector<ValueId>& results = regions_[region].results;
    if (results.size() != part.graph.outputs().size()) {
      throw InternalFailure("region {}: {} results became {}", region,
                            results.size(), part.graph.outputs().size());
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ValueId now = part.now[IndexOf(part.graph.outputs()[i])];
      step_.now[IndexOf(results[i])] = now;
      if (now != kNone && phase == Phase::kForward) Hold(now);
    }
  }

  /// By their names in the step; again before each pass, because other regions
  /// have made more of them by then.
  void FindSources(Part& part) {
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
    Forever(now);
  }

  void Hold(ValueId now) { held_.push_back(builder_.value(now).storage); }

  static Attributes CallOf(const OperatorGraph& region) {
    return {
        {std::string(kCallAttribute),
         std::vector<std::int64_t>{CountSources(region, TensorRole::kParameter),
                                   CountSources(region, TensorRole::kBuffer)}}};
  }

  void Copy(Part& part, NodeId id, Attributes further) {
    const Node& node = part.graph.node(id);
    NodeSpec spec{.target = node.target,
                  .attributes = node.attributes,
                  .scope = node.scope,
                  .phase = node.phase};
    std::ranges::move(further, std::back_inserter(spec.attributes));
    for (const ValueId input : node.inputs) {
      spec.inputs.push_back(part.now[IndexOf(input)]);
    }
    const NodeId added = builder_.AddNode(std::move(spec));
    for (const ValueId output : node.outputs) {
      const Value& value = part.graph.value(output);
      part.now[IndexOf(output)] =
          builder_.AddResult(added, {}, value.type,
                             StorageNow(part, value.storage), value.strides);
      const StorageId storage = part.storage_of[IndexOf(value.storage)];
      Life& life = lives_[IndexOf(storage)];
      if (!life.forever && life.birth == kNone) life.birth = added;
      life.death = added;
    }
    CopyCalls(
        part.graph, id,
        {.value = [&part](ValueId value) { return part.now[IndexOf(value)]; },
         .storage = [this, &part, added](
                        StorageId one) { return InnerNow(part, one, added); },
         .name = [](const std::string&) { return std::string(); }},
        added, builder_);
    Read(part, node, added);
  }

  StorageId InnerNow(Part& part, StorageId id, NodeId node) {
    const StorageId now = StorageNow(part, id);
    Life& life = lives_[IndexOf(now)];
    if (!life.forever && life.birth == kNone) life = {node, node};
    return now;
  }

  void Read(const Part& part, const Node& node, NodeId added) {
    const auto read = [&](ValueId id) {
      const ValueId now = part.now[IndexOf(id)];
      if (now == kNone) return;
      LifeOf(now).death = added;
      if (part.graph.value(id).producer == kNone) {
        KeepForBackward(builder_.value(now), node.phase);
      }
    };
    std::ranges::for_each(node.inputs, read);
    for (const Node& call : node.calls) {
      std::ranges::for_each(call.inputs, read);
    }
  }

  /// Marks what the backward pass of a region reads of earlier regions.
  void KeepForBackward(const Value& value, Phase phase) {
    if (phase == Phase::kBackward && value.producer != kNone &&
        value.producer <= forward_end_ &&
        builder_.storage(value.storage).role == TensorRole::kActivation) {
      builder_.SetRole(value.storage, TensorRole::kSaved);
    }
  }

  void AddOptimizer() {
    for (NodeId id = 0; id < std::ssize(step_.graph.nodes()); ++id) {
      const Node& node = step_.graph.node(id);
      if (node.phase != Phase::kOptimizer) continue;
      for (const ValueId input : node.inputs) {
        const ValueId now = step_.now[IndexOf(input)];
        step_.storage_of[IndexOf(step_.graph.value(input).storage)] =
            builder_.value(now).storage;
      }
      Copy(step_, id, {});
    }
  }

  void AddEvents() {
    for (const StorageId storage : held_) {
      Life& life = lives_[IndexOf(storage)];
      life.death = std::max(life.death, forward_end_);
    }
    const std::size_t nodes = IndexOf(builder_.num_nodes());
    std::vector<std::vector<StorageId>> born(nodes + 1);  // [0]: before node 0
    std::vector<std::vector<StorageId>> dying(nodes + 1);
    for (StorageId id = 0; id < std::ssize(lives_); ++id) {
      const Life& life = lives_[IndexOf(id)];
      born[IndexOf(life.birth + 1)].push_back(id);
      if (!life.forever) dying[IndexOf(life.death + 1)].push_back(id);
    }
    for (std::size_t i = 0; i <= nodes; ++i) {
      const NodeId node = static_cast<NodeId>(i) - 1;
      for (const StorageId id : born[i]) builder_.Allocate(id, node);
      for (const StorageId id : dying[i]) builder_.Free(id, node);
    }
  }

  const std::vector<Region>& regions_;
  GraphBuilder builder_;
  Part step_;
  std::vector<Part> parts_;  ///< By region.
  std::map<std::string, ValueId> step_value_;
  std::vector<Life> lives_;      ///< By storage.
  std::vector<StorageId> held_;  ///< Handed on in the forward pass.
  NodeId forward_end_ = kNone;   ///< Its last node, once it is there.
};

}  // namespace

OperatorGraph JoinRegions(const OperatorGraph& step,
                          const std::vector<Region>& regions) {
  return RegionJoiner(step, regions).Run();
}

}  // namespace foretell::runtime
