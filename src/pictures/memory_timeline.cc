#include "src/pictures/memory_timeline.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/core/units.h"
#include "src/pictures/picture_json.h"

namespace foretell::pictures {
namespace {

using Json = nlohmann::ordered_json;

/// Walks through the events and keeps the highest moment of each group.
class Walk {
 public:
  Walk(const OperatorGraph& graph, std::size_t group, std::size_t groups)
      : graph_(graph), group_(group), best_(groups), moments_(groups) {
    best_.assign(groups, -1);
  }

  std::vector<MemoryMoment> Run() {
    std::size_t done = 0;
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      while (done < graph_.events().size() &&
             graph_.events()[done].node <= id) {
        Apply(graph_.events()[done++]);
        if (graph_.events()[done - 1].node == id) Look(id, done);
      }
      Look(id, done);
    }
    return std::move(moments_);
  }

 private:
  void Apply(const MemoryEvent& event) {
    const Storage& storage = graph_.storage(event.storage);
    const bool made = event.kind == MemoryEvent::Kind::kAllocate;
    const std::int64_t bytes = made ? storage.bytes : -storage.bytes;
    live_ += bytes;
    by_role_[static_cast<std::size_t>(storage.role)] += bytes;
  }
  void Look(NodeId id, std::size_t done) {
    const std::size_t place = Index(id) / group_;
    if (live_ <= best_[place]) return;
    best_[place] = live_;
    moments_[place] = {.first = static_cast<NodeId>(place * group_),
                       .node = id,
                       .events = done,
                       .by_role = by_role_};
  }

  const OperatorGraph& graph_;
  std::size_t group_;
  std::int64_t live_ = 0;
  std::array<std::int64_t, kNumTensorRoles> by_role_ = {};
  std::vector<std::int64_t> best_;
  std::vector<MemoryMoment> moments_;
};

void AddPeaks(const MemoryBreakdown& memory, std::size_t group,
              std::vector<MemoryMoment>& moments) {
  for (std::size_t i = 0; i < memory.timeline.size(); ++i) {
    MemoryMoment& moment = moments[i / group];
    const NodeMemory& node = memory.timeline[i];
    moment.allocated = std::max(moment.allocated, node.peak_allocated);
    moment.reserved = std::max(moment.reserved, node.reserved_after);
  }
}

/// Every storage with the events between which it lives.
struct Life {
  std::size_t born = std::numeric_limits<std::size_t>::max();
  std::size_t died = std::numeric_limits<std::size_t>::max();
};

std::vector<Life> LivesOf(const OperatorGraph& graph) {
  std::vector<Life> lives(graph.storages().size());
  for (std::size_t i = 0; i < graph.events().size(); ++i) {
    const MemoryEvent& event = graph.events()[i];
    Life& life = lives[Index(event.storage)];
    (event.kind == MemoryEvent::Kind::kAllocate ? life.born : life.died) = i;
  }
  return lives;
}

/// Those that are alive at a moment, in the order of their birth.
std::vector<ShownTensor> AliveAt(const OperatorGraph& graph,
                                 const std::vector<MemoryMoment>& moments) {
  const std::vector<Life> lives = LivesOf(graph);
  const auto after = [&moments](std::size_t event) {
    return static_cast<std::size_t>(
        std::ranges::upper_bound(moments, event, {}, &MemoryMoment::events) -
        moments.begin());
  };
  std::vector<ShownTensor> tensors;
  for (const MemoryEvent& event : graph.events()) {
    if (event.kind != MemoryEvent::Kind::kAllocate) continue;
    const Life& life = lives[Index(event.storage)];
    const std::size_t first = after(life.born);
    const std::size_t end = after(life.died);
    if (first >= end || graph.storage(event.storage).bytes == 0) continue;
    tensors.push_back({event.storage, first, end - 1});
  }
  return tensors;
}

void KeepLargest(const OperatorGraph& graph, std::size_t most,
                 std::vector<ShownTensor>& tensors) {
  if (tensors.size() <= most) return;
  std::vector<std::int64_t> sizes;
  for (const ShownTensor& tensor : tensors) {
    sizes.push_back(graph.storage(tensor.storage).bytes);
  }
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::nth_element(sizes, middle, std::greater{});
  const std::int64_t least = *middle;
  // Of those that are as small as the last, the first ones.
  auto room = static_cast<std::ptrdiff_t>(most) -
              std::count_if(sizes.begin(), middle,
                            [least](auto size) { return size > least; });
  std::erase_if(tensors, [&](const ShownTensor& tensor) {
    const std::int64_t bytes = graph.storage(tensor.storage).bytes;
    return bytes < least || (bytes == least && room-- <= 0);
  });
}

/// Type of the first tensor of every storage, as text.
std::vector<std::string> TypesOf(const OperatorGraph& graph) {
  std::vector<std::string> types(graph.storages().size());
  for (const Value& value : graph.values()) {
    if (value.storage == kNone || !types[Index(value.storage)].empty())
      continue;
    types[Index(value.storage)] = ToString(value.type);
  }
  return types;
}

Json TensorsToJson(const OperatorGraph& graph, const MemoryTimeline& timeline,
                   const std::vector<std::string>& modules) {
  const std::vector<std::string> types = TypesOf(graph);
  Json columns;
  for (const ShownTensor& tensor : timeline.tensors) {
    const Storage& storage = graph.storage(tensor.storage);
    const std::size_t index = Index(tensor.storage);
    columns["label"].push_back(Clipped(storage.label));
    columns["module"].push_back(Clipped(modules[index]));
    columns["type"].push_back(types[index]);
    columns["role"].push_back(TensorRoleName(storage.role));
    columns["mib"].push_back(Brief(ToMiB(storage.bytes)));
    columns["first"].push_back(tensor.first);
    columns["last"].push_back(tensor.last);
  }
  return columns;
}

Json MomentsToJson(const OperatorGraph& graph,
                   const std::vector<MemoryMoment>& moments) {
  Json columns;
  for (const MemoryMoment& moment : moments) {
    const Node& node = graph.node(moment.node);
    columns["operator"].push_back(moment.node);
    columns["name"].push_back(Clipped(node.target));
    columns["phase"].push_back(PhaseName(node.phase));
    columns["allocated_mib"].push_back(Brief(ToMiB(moment.allocated)));
    columns["reserved_mib"].push_back(Brief(ToMiB(moment.reserved)));
  }
  for (int role = 0; role < kNumTensorRoles; ++role) {
    const auto index = static_cast<std::size_t>(role);
    const auto live = [index](const MemoryMoment& moment) {
      return moment.by_role[index];
    };
    if (std::ranges::all_of(
            moments, [](auto b) { return b == 0; }, live)) {
      continue;
    }
    Json& column =
        columns["by_role"][TensorRoleName(static_cast<TensorRole>(role))];
    for (const MemoryMoment& moment : moments) {
      column.push_back(Brief(ToMiB(live(moment))));
    }
  }
  return columns;
}

}  // namespace

MemoryTimeline MakeTimeline(const OperatorGraph& graph,
                            const MemoryBreakdown& memory,
                            const TimelineLimits& limits) {
  MemoryTimeline timeline;
  const std::size_t operators = graph.nodes().size();
  if (operators == 0) return timeline;
  const std::size_t group = (operators + limits.moments - 1) / limits.moments;
  const std::size_t groups = (operators + group - 1) / group;
  timeline.moments = Walk(graph, group, groups).Run();
  AddPeaks(memory, group, timeline.moments);
  timeline.tensors = AliveAt(graph, timeline.moments);
  KeepLargest(graph, limits.tensors, timeline.tensors);
  return timeline;
}

Json TimelineToJson(const OperatorGraph& graph, const MemoryTimeline& timeline,
                    const std::vector<std::string>& modules) {
  return {{"operators", graph.nodes().size()},
          {"moments", MomentsToJson(graph, timeline.moments)},
          {"tensors", TensorsToJson(graph, timeline, modules)}};
}

}  // namespace foretell::pictures
