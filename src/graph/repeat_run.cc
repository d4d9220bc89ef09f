#include "src/graph/repeat_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/graph/copy_node.h"
#include "src/graph/node_events.h"
#include "src/graph/recompute_plan.h"

namespace foretell {
namespace {

using Kind = MemoryEvent::Kind;
using Ids = std::unordered_map<std::int32_t, std::int32_t>;

/// Which parts of the last run correspond to which of the previous one.
struct Partners {
  Ids values;    ///< By those of the previous run.
  Ids storages;  ///< Likewise.
  bool fit = true;
};

void PairNodes(const OperatorGraph& graph, NodeId a, NodeId b,
               Partners& partners) {
  const Node& first = graph.node(a);
  const Node& second = graph.node(b);
  if (first.target != second.target || first.phase != second.phase ||
      first.inputs.size() != second.inputs.size() ||
      first.outputs.size() != second.outputs.size()) {
    partners.fit = false;
    return;
  }
  for (std::size_t i = 0; i < first.outputs.size(); ++i) {
    const ValueId value = first.outputs[i];
    if (graph.value(value).type != graph.value(second.outputs[i]).type) {
      partners.fit = false;
    }
    partners.values.emplace(value, second.outputs[i]);
  }
}

/// Births are paired in their order; deaths may differ by what the first batch
/// alone has left.
void PairBirths(const OperatorGraph& graph, NodeId a, NodeId b,
                Partners& partners) {
  std::vector<StorageId> births[2];
  for (const auto& [node, list] :
       {std::pair(a, &births[0]), std::pair(b, &births[1])}) {
    for (const MemoryEvent& event : EventsOf(graph, node)) {
      if (event.kind == Kind::kAllocate) list->push_back(event.storage);
    }
  }
  if (births[0].size() != births[1].size()) {
    partners.fit = false;
    return;
  }
  for (std::size_t i = 0; i < births[0].size(); ++i) {
    partners.storages.emplace(births[0][i], births[1][i]);
  }
}

Partners PairRuns(const OperatorGraph& graph, const RepeatedRun& run) {
  Partners partners;
  const NodeId length = run.last - run.previous;
  if (length <= 0 || run.end - run.last != length) partners.fit = false;
  for (NodeId i = 0; partners.fit && i < length; ++i) {
    PairNodes(graph, run.previous + i, run.last + i, partners);
    PairBirths(graph, run.previous + i, run.last + i, partners);
  }
  return partners;
}

/// Whether what the previous run has made is gone when the last one ends, and
/// what ends in the last run was made by either.
bool IsSteady(const OperatorGraph& graph, const RepeatedRun& run,
              const Partners& partners) {
  const std::vector<StorageLife> lives = StorageLives(graph);
  return std::ranges::all_of(lives,
                             [&](const StorageLife& life) {
                               const bool is_previous =
                                   life.birth >= run.previous &&
                                   life.birth < run.last;
                               const bool ends_here = life.death >= run.last &&
                                                      life.death < run.end;
                               if (is_previous) return life.death < run.end;
                               return !ends_here || life.birth >= run.last;
                             }) &&
         partners.fit;
}

class Repeater {
 public:
  Repeater(const OperatorGraph& graph, const RepeatedRun& run,
           Partners partners)
      : graph_(graph),
        run_(run),
        partners_(std::move(partners)),
        builder_(graph.info()),
        values_(graph.values().size(), kNone) {
    builder_.SetParameterElements(graph.ParameterElements());
    for (const Storage& storage : graph.storages()) {
      builder_.AddStorage(storage.bytes, storage.role, storage.label);
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = graph.values()[i];
      if (value.producer != kNone) continue;
      values_[i] = builder_.AddSource(value.name, value.type, value.storage,
                                      value.strides);
    }
  }

  OperatorGraph Repeat(int times) {
    PlayEvents(kNone);
    for (NodeId id = 0; id < run_.end; ++id) AddNode(id, "");
    for (int i = 0; i < times; ++i) AddRun(fmt::format(".batch{}", i + 4));
    for (NodeId id = run_.end; id < std::ssize(graph_.nodes()); ++id) {
      AddNode(id, "");
    }
    for (const ValueId id : graph_.inputs()) builder_.MarkInput(ValueOf(id));
    for (const ValueId id : graph_.outputs()) builder_.MarkOutput(ValueOf(id));
    return builder_.Build();
  }

 private:
  /// While a run is added, what the previous run made replaces what the one
  /// before it made.
  void AddRun(const std::string& suffix) {
    const Ids before = storages_;
    for (const auto& [previous, last] : partners_.values) {
      values_[IndexOf(previous)] = values_[IndexOf(last)];
    }
    for (const auto& [previous, last] : partners_.storages) {
      const auto found = before.find(last);
      storages_[previous] = found == before.end() ? last : found->second;
    }
    for (NodeId id = run_.last; id < run_.end; ++id) AddNode(id, suffix);
  }

  ValueId ValueOf(ValueId id) const { return values_[IndexOf(id)]; }

  StorageId StorageOf(StorageId id) const {
    const auto found = storages_.find(id);
    return found == storages_.end() ? id : found->second;
  }

  void AddNode(NodeId id, const std::string& suffix) {
    if (!suffix.empty()) AddBirths(id);
    CopyNode(
        graph_, id,
        {.parts = {
             .value = [this](ValueId value) { return ValueOf(value); },
             .storage = [this](StorageId one) { return StorageOf(one); },
             .name = [&](const std::string& name) { return name + suffix; }},
         .add = [this](ValueId result,
                       ValueId copy) { values_[IndexOf(result)] = copy; }},
        builder_);
    PlayEvents(id);
  }

  void AddBirths(NodeId id) {
    for (const MemoryEvent& event : EventsOf(graph_, id)) {
      if (event.kind != Kind::kAllocate) continue;
      const Storage& storage = graph_.storage(event.storage);
      // Its label is the name of the first tensor in it.
      storages_[event.storage] =
          builder_.AddStorage(storage.bytes, storage.role);
    }
  }

  void PlayEvents(NodeId id) {
    const NodeId now = builder_.num_nodes() - 1;
    for (const MemoryEvent& event : EventsOf(graph_, id)) {
      const StorageId storage = StorageOf(event.storage);
      event.kind == Kind::kAllocate ? builder_.Allocate(storage, now)
                                    : builder_.Free(storage, now);
    }
  }

  const OperatorGraph& graph_;
  RepeatedRun run_;
  Partners partners_;
  GraphBuilder builder_;
  std::vector<ValueId> values_;  ///< The latest, by value of the graph.
  Ids storages_;  ///< Likewise, where it is another than in the graph.
};

}  // namespace

std::optional<OperatorGraph> RepeatRun(const OperatorGraph& graph,
                                       const RepeatedRun& run, int times) {
  Partners partners = PairRuns(graph, run);
  if (!IsSteady(graph, run, partners)) return std::nullopt;
  return Repeater(graph, run, std::move(partners)).Repeat(times);
}

OperatorGraph AddBatches(const OperatorGraph& graph, const RepeatedRun& run,
                         int batches) {
  constexpr std::int64_t kMostNodes = 2'000'000;
  const int further = batches - kTracedBatches;
  const std::int64_t each = run.end - run.last;
  if (each * further > kMostNodes) {
    throw Unsupported(
        "--accumulate {} makes {} operators of {} for each batch, at most {} "
        "are predicted; the memory is that of --accumulate {}",
        batches, each * further, each, kMostNodes, kTracedBatches);
  }
  std::optional<OperatorGraph> repeated = RepeatRun(graph, run, further);
  if (repeated) return *std::move(repeated);
  throw Unsupported(
      "--accumulate {}: the operators of a batch are not those of the one "
      "before; the largest that is predicted is --accumulate {}",
      batches, kTracedBatches);
}

}  // namespace foretell
