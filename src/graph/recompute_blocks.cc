// Activation checkpointing as a change of the graph.
//
// Done here and not while tracing, it serves every format: all of them state a
// module path for each operator, and a TorchScript function or an ONNX file
// has no module that could be called again. What it cannot know is what a
// block's Python code would do apart from its operators. The interpreter of
// torch.export's files runs checkpoints that a file has (frontends/exported/
// checkpoint.cc); tests/program/recompute_test.cc compares the two.
#include "src/graph/recompute_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "src/core/failure.h"
#include "src/graph/copy_node.h"
#include "src/graph/node_events.h"
#include "src/graph/recompute_plan.h"
#include "src/graph/recompute_spec.h"
#include "src/graph/storage_bytes.h"

namespace foretell {
namespace {

using Kind = MemoryEvent::Kind;

constexpr int kMostLevels = 3;

/// Rewrites the graph with its blocks computed again.
class Rewriter {
 public:
  Rewriter(const OperatorGraph& graph, const RecomputePlan& plan, NodeId first)
      : graph_(graph),
        plan_(plan),
        first_(first),
        lives_(StorageLives(graph)),
        builder_(graph.info()),
        value_of_(graph.values().size(), kNone),
        storage_of_(graph.storages().size()),
        death_(graph.storages().size()) {
    builder_.SetParameterElements(graph.ParameterElements());
    for (const Value& value : graph.values()) names_.insert(value.name);
    AddStorages();
    SetDeaths();
    AddSources();
  }

  OperatorGraph Rewrite() {
    std::span<const MemoryEvent> rest = graph_.events();
    PlayEvents(kNone, rest);
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      for (const RecomputedBlock& block : plan_.blocks) {
        if (block.reader == id) Recompute(block);
      }
      if (id >= first_) AddNode(id, graph_.node(id).phase);
      PlayEvents(id, rest);
      for (const StorageId storage : late_[IndexOf(id)]) {
        builder_.Free(storage, Current());
      }
    }
    for (const ValueId value : graph_.inputs()) {
      builder_.MarkInput(MapValue(value));
    }
    for (const ValueId value : graph_.outputs()) {
      builder_.MarkOutput(MapValue(value));
    }
    return builder_.Build();
  }

 private:
  void AddStorages() {
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const Storage& storage = graph_.storage(id);
      const bool is_early = plan_.early_death[IndexOf(id)] != kNever;
      builder_.AddStorage(storage.bytes,
                          is_early ? TensorRole::kActivation : storage.role,
                          storage.label);
      storage_of_[IndexOf(id)] = id;
    }
  }

  /// When storages of the graph's own die now, and lists those whose death is
  /// no event of the graph.
  void SetDeaths() {
    late_.resize(graph_.nodes().size());
    for (std::size_t i = 0; i < lives_.size(); ++i) death_[i] = lives_[i].death;
    for (const RecomputedBlock& block : plan_.blocks) {
      for (const StorageId input : block.inputs) {
        NodeId& death = death_[IndexOf(input)];
        if (death != kNone) death = std::max(death, block.end);
      }
    }
    for (std::size_t i = 0; i < death_.size(); ++i) {
      if (plan_.early_death[i] != kNever) death_[i] = plan_.early_death[i];
      if (plan_.freed_again[i] != kNone) death_[i] = kNever;
      if (death_[i] != lives_[i].death && death_[i] != kNever) {
        late_[IndexOf(death_[i])].push_back(static_cast<StorageId>(i));
      }
    }
  }

  void AddSources() {
    for (std::size_t i = 0; i < graph_.values().size(); ++i) {
      const Value& value = graph_.values()[i];
      if (value.producer != kNone) continue;
      value_of_[i] = builder_.AddSource(value.name, value.type, value.storage,
                                        value.strides);
    }
  }

  NodeId Current() const { return builder_.num_nodes() - 1; }

  /// The graph's events during `id`, off the front of `rest`.
  void PlayEvents(NodeId id, std::span<const MemoryEvent>& rest) {
    for (; !rest.empty() && rest.front().node == id; rest = rest.subspan(1)) {
      const StorageId storage = rest.front().storage;
      if (rest.front().kind == Kind::kAllocate) {
        builder_.Allocate(storage, Current());
      } else if (storage_of_[IndexOf(storage)] != storage) {
        builder_.Free(storage_of_[IndexOf(storage)], Current());
      } else if (death_[IndexOf(storage)] == id) {
        builder_.Free(storage, Current());
      }
    }
  }

  void AddNode(NodeId id, Phase phase) {
    const bool is_again = std::ranges::any_of(
        graph_.node(id).outputs,
        [this](ValueId output) { return value_of_[IndexOf(output)] != kNone; });
    CopyNode(
        graph_, id,
        {.parts = {
             .value = [this](ValueId value) { return MapValue(value); },
             .storage =
                 [this](StorageId one) { return storage_of_[IndexOf(one)]; },
             .name =
                 [&](const std::string& name) {
                   return is_again ? NameAgain(name) : name;
                 }},
         .add = [this](ValueId result,
                       ValueId copy) { value_of_[IndexOf(result)] = copy; }},
        builder_, {.phase = phase});
  }

  /// The value in the storage that now replaces its own.
  ValueId MapValue(ValueId id) {
    const Value& value = graph_.value(id);
    const StorageId storage = storage_of_[IndexOf(value.storage)];
    ValueId& mapped = value_of_[IndexOf(id)];
    if (mapped != kNone && builder_.value(mapped).storage == storage) {
      return mapped;
    }
    const bool is_again = mapped != kNone;
    mapped = builder_.AddSource(is_again ? NameAgain(value.name) : value.name,
                                value.type, storage, value.strides);
    return mapped;
  }

  std::string NameAgain(std::string name) {
    do {
      name += ".again";
    } while (!names_.insert(name).second);
    return name;
  }

  bool IsOwn(const RecomputedBlock& block, StorageId storage) const {
    const NodeId birth = lives_[IndexOf(storage)].birth;
    return birth >= block.first && birth <= block.last;
  }

  bool IsKept(StorageId storage) const {
    return plan_.is_kept[IndexOf(lives_[IndexOf(storage)].birth)];
  }

  void Recompute(const RecomputedBlock& block) {
    const std::vector<ValueId> values = value_of_;
    std::vector<StorageId> born;
    for (NodeId id = block.first; id <= block.stop; ++id) {
      const std::span<const MemoryEvent> events = EventsOf(graph_, id);
      if (!plan_.is_kept[IndexOf(id)]) {
        for (const MemoryEvent& event : events) {
          if (event.kind == Kind::kAllocate) {
            born.push_back(Copy(event.storage));
          }
        }
        if (block.reader >= first_) AddNode(id, Phase::kBackward);
      }
      PlayAgain(block, events);
    }
    for (const StorageId storage : born) Release(block, storage);
    Restore(values);
  }

  /// The copy of what the second run made.
  void Release(const RecomputedBlock& block, StorageId storage) {
    if (block.saved.contains(storage)) return;
    const StorageId copy = storage_of_[IndexOf(storage)];
    if (block.results.contains(storage)) {
      late_[IndexOf(block.end)].push_back(copy);
    } else if (lives_[IndexOf(storage)].death > block.stop) {
      builder_.Free(copy, Current());
    }
    storage_of_[IndexOf(storage)] = storage;
  }

  /// Adds a storage to be used instead of `storage`, which is returned.
  StorageId Copy(StorageId storage) {
    storage_of_[IndexOf(storage)] = builder_.AddStorage(
        graph_.storage(storage).bytes, TensorRole::kBackwardTemporary);
    return storage;
  }

  void PlayAgain(const RecomputedBlock& block,
                 std::span<const MemoryEvent> events) {
    for (const MemoryEvent& event : events) {
      if (plan_.freed_again[IndexOf(event.storage)] != kNone) {
        if (event.kind == Kind::kFree) builder_.Free(event.storage, Current());
        continue;
      }
      if (!IsOwn(block, event.storage) || IsKept(event.storage)) continue;
      const StorageId copy = storage_of_[IndexOf(event.storage)];
      event.kind == Kind::kAllocate ? builder_.Allocate(copy, Current())
                                    : builder_.Free(copy, Current());
    }
  }

  /// Results of the block that live outside of it are those of the first time.
  void Restore(const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const StorageId storage = graph_.values()[i].storage;
      const bool is_first = storage_of_[IndexOf(storage)] == storage;
      if (is_first && values[i] != kNone) value_of_[i] = values[i];
    }
  }

  const OperatorGraph& graph_;
  const RecomputePlan& plan_;
  NodeId first_;
  std::vector<StorageLife> lives_;
  GraphBuilder builder_;
  std::vector<ValueId> value_of_;             ///< By value of the graph.
  std::vector<StorageId> storage_of_;         ///< By storage of the graph.
  std::vector<NodeId> death_;                 ///< By storage of the graph.
  std::vector<std::vector<StorageId>> late_;  ///< By node: dead after it.
  std::unordered_set<std::string> names_;
};

std::string SomePath(const OperatorGraph& graph) {
  const auto node = std::ranges::find_if(
      graph.nodes(), [](const Node& one) { return !one.scope.empty(); });
  return node == graph.nodes().end()
             ? "no operator names its module"
             : fmt::format("'{}' is the path of one operator", node->scope);
}

}  // namespace

OperatorGraph ChooseBlocks(const OperatorGraph& graph,
                           const std::string& blocks,
                           const RewriteBlocks& rewrite) {
  const RecomputeSpec spec = ParseRecompute(blocks);
  const bool has_levels =
      std::ranges::any_of(spec.blocks, [](const RecomputeSpec::Blocks& one) {
        return one.path == kAutomaticBlocks;
      });
  std::optional<OperatorGraph> best;
  for (int level = 0; level < (has_levels ? kMostLevels : 1); ++level) {
    std::optional<OperatorGraph> found = rewrite(spec, level);
    if (!found) continue;
    if (!best || PeakOfLiveBytes(*found) < PeakOfLiveBytes(*best)) {
      best = std::move(found);
    }
  }
  if (best) return *std::move(best);
  if (has_levels) {
    throw InvalidArgument(
        "recompute '{}': no numbered module keeps a tensor that could be "
        "recomputed; name the paths of others",
        blocks);
  }
  throw InvalidArgument(
      "no block '{}' keeps a tensor that could be recomputed; {}", blocks,
      SomePath(graph));
}

OperatorGraph RecomputeBlocks(const OperatorGraph& graph,
                              const std::string& blocks, NodeId first) {
  return ChooseBlocks(graph, blocks,
                      [&](const RecomputeSpec& spec,
                          int level) -> std::optional<OperatorGraph> {
                        const RecomputePlan plan = PlanRecomputation(
                            graph, spec, BlocksOf(spec, level));
                        if (plan.blocks.empty()) return std::nullopt;
                        return Rewriter(graph, plan, first).Rewrite();
                      });
}

}  // namespace foretell
