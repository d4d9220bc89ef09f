// A saved tensor is copied when its operator saves it, and dies on the GPU once
// five more have been saved: those are the stash that lets copies overlap with
// kernels. What is still in the stash when the backward pass first unpacks a
// tensor is used by that operator and dropped after it. A tensor that came back
// dies after the operator that unpacks the next one.
//
// The graph does not show what an operator saves. A storage counts as saved by
// the last forward operator that uses it, once for each backward operator that
// reads it: every save is a copy of its own. Those that a recomputed block
// reads are what the block was called with, which is saved once. Of several
// copies that are read one after another, one is in the graph.

#include "src/parallel/offload_activations.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

using Kind = MemoryEvent::Kind;

constexpr std::int64_t kFewestBytes = 1024;
constexpr std::size_t kStash = 5;

/// A storage that goes to the host and comes back.
struct Trip {
  StorageId storage = kNone;
  NodeId death = kNone;  ///< When it died before.
  NodeId saved = kNone;  ///< After it, the copy to the host.
  NodeId left = kNone;   ///< After it, the storage is freed; kNone: it stays.
  NodeId back = kNone;   ///< Before it, the copy from the host; kNone: never.
  NodeId gone = kNone;   ///< After it, that copy is freed.
  ValueId sent = kNone;  ///< What is copied to the host.
  ValueId read = kNone;  ///< What `back` reads.
  std::int64_t reads = 0;
  bool is_of_block = false;  ///< A recomputed block reads it.

  std::int64_t Copies() const {
    return is_of_block ? 1 : std::max<std::int64_t>(reads, 1);
  }
};

/// Where the passes that `graph` has end, by forward node.
struct PassEnds {
  explicit PassEnds(const OperatorGraph& graph)
      : pass(graph.nodes().size(), kNone), network(pass) {
    const auto count = static_cast<NodeId>(graph.nodes().size());
    for (NodeId id = count - 1; id >= 0; --id) {
      const Node& node = graph.node(id);
      if (node.phase != Phase::kForward) continue;
      const bool goes_on =
          id + 1 < count && graph.node(id + 1).phase == Phase::kForward;
      pass[IndexOf(id)] = goes_on ? pass[IndexOf(id + 1)] : id;
      network[IndexOf(id)] = goes_on ? network[IndexOf(id + 1)] : kNone;
      if (network[IndexOf(id)] == kNone && !node.scope.empty()) {
        network[IndexOf(id)] = id;
      }
    }
  }

  std::vector<NodeId> pass;
  /// The last operator that has a module: the loss has none. kNone: it is past.
  std::vector<NodeId> network;
};

class TripPlanner {
 public:
  explicit TripPlanner(const OperatorGraph& graph)
      : graph_(graph), ends_(graph), trip_of_(graph.storages().size(), kNone) {
    FindStorages();
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      for (const ValueId value : node.inputs) NoteUse(id, node, value);
      for (const ValueId value : node.outputs) NoteUse(id, node, value);
    }
  }

  std::vector<Trip> Plan() {
    std::erase_if(trips_, [this](const Trip& trip) {
      return trip.saved == kNone || ends_.network[IndexOf(trip.saved)] == kNone;
    });
    std::ranges::stable_sort(trips_, {}, &Trip::saved);
    for (auto pass = trips_.begin(); pass != trips_.end();) {
      const NodeId end = ends_.pass[IndexOf(pass->saved)];
      const auto next = std::find_if(pass, trips_.end(), [&](const Trip& trip) {
        return trip.saved > end;
      });
      PlanPass({pass, next});
      pass = next;
    }
    std::erase_if(trips_, [](const Trip& trip) { return trip.left == kNone; });
    return std::move(trips_);
  }

 private:
  void FindStorages() {
    std::vector<NodeId> births(graph_.storages().size(), kNone);
    for (const MemoryEvent& event : graph_.events()) {
      if (event.node == kNone) continue;
      NodeId& birth = births[IndexOf(event.storage)];
      if (event.kind == Kind::kAllocate) birth = event.node;
      const bool is_saved = event.kind == Kind::kFree && birth != kNone &&
                            graph_.node(birth).phase == Phase::kForward &&
                            graph_.node(event.node).phase == Phase::kBackward;
      if (!is_saved || graph_.storage(event.storage).bytes < kFewestBytes) {
        continue;
      }
      trip_of_[IndexOf(event.storage)] = static_cast<NodeId>(trips_.size());
      trips_.push_back({.storage = event.storage, .death = event.node});
    }
  }

  void NoteUse(NodeId id, const Node& node, ValueId value) {
    const NodeId index = trip_of_[IndexOf(graph_.value(value).storage)];
    if (index == kNone) return;
    Trip& trip = trips_[IndexOf(index)];
    if (node.phase == Phase::kForward) {
      trip.saved = id;
      trip.sent = value;
      return;
    }
    if (trip.back == kNone) {
      trip.back = id;
      trip.read = value;
    }
    trip.is_of_block |= !node.scope.empty();
    trip.reads += node.kind == OpKind::kView ? 0 : 1;
  }

  void PlanPass(std::span<Trip> trips) {
    std::vector<NodeId> saves;
    std::vector<NodeId> backs;
    for (const Trip& trip : trips) {
      saves.insert(saves.end(), static_cast<std::size_t>(trip.Copies()),
                   trip.saved);
      if (trip.back != kNone) backs.push_back(trip.back);
    }
    std::ranges::sort(backs);
    std::size_t number = 0;
    for (Trip& trip : trips) {
      number += static_cast<std::size_t>(trip.Copies());
      const std::size_t pushes_out = number - 1 + kStash;
      if (pushes_out < saves.size()) {
        trip.left = saves[pushes_out];
      } else if (!backs.empty() && trip.back != backs.front()) {
        trip.left = std::min(backs.front(), trip.death);
      }
      const auto next = std::ranges::upper_bound(backs, trip.death);
      trip.gone = next == backs.end() ? trip.death : *next;
    }
  }

  const OperatorGraph& graph_;
  PassEnds ends_;
  std::vector<NodeId> trip_of_;  ///< By storage: index of its trip.
  std::vector<Trip> trips_;
};

class ActivationOffload final : public StepRewriter {
 public:
  ActivationOffload(const OperatorGraph& graph, const std::vector<Trip>& trips)
      : StepRewriter(graph, kOneGpu),
        travels_(graph.storages().size(), false),
        values_of_(graph.storages().size()) {
    for (const Trip& trip : trips) {
      travels_[IndexOf(trip.storage)] = true;
      saved_.emplace(trip.saved, &trip);
      left_.emplace(trip.left, &trip);
      if (trip.back == kNone) continue;
      back_.emplace(trip.back, &trip);
      gone_.emplace(trip.gone, &trip);
    }
    for (ValueId id = 0; id < std::ssize(graph.values()); ++id) {
      values_of_[IndexOf(graph.value(id).storage)].push_back(id);
    }
  }

 private:
  using ByNode = std::multimap<NodeId, const Trip*>;

  template <typename Visit>
  static void ForEach(const ByNode& trips, NodeId id, const Visit& visit) {
    const auto [begin, end] = trips.equal_range(id);
    for (auto it = begin; it != end; ++it) visit(*it->second);
  }

  bool Keeps(const MemoryEvent& event) const override {
    return event.kind == Kind::kAllocate || !travels_[IndexOf(event.storage)];
  }

  void BeforeNode(NodeId id) override {
    ForEach(back_, id, [this](const Trip& trip) { BringBack(trip); });
  }

  void AfterNode(NodeId id) override {
    ForEach(saved_, id, [this](const Trip& trip) {
      Add({.target = std::string(kToHost),
           .inputs = {ValueNow(trip.sent)},
           .phase = Phase::kForward,
           .attributes = CopyOf(trip, trip.sent)});
    });
    const auto free = [this](const Trip& trip) {
      Free(StorageNow(trip.storage));
    };
    ForEach(left_, id, free);
    ForEach(gone_, id, free);
  }

  Attributes CopyOf(const Trip& trip, ValueId value) const {
    const std::int64_t bytes = graph().value(value).type.Bytes();
    return {{std::string(kBytesAttribute), trip.Copies() * bytes}};
  }

  void BringBack(const Trip& trip) {
    const Storage& storage = graph().storage(trip.storage);
    const Value& read = graph().value(trip.read);
    const ValueId copy = AddTensor({.target = std::string(kFromHost),
                                    .types = {read.type},
                                    .attributes = CopyOf(trip, trip.read),
                                    .strides = {read.strides}},
                                   storage.bytes, storage.role, storage.label);
    for (const ValueId id : values_of_[IndexOf(trip.storage)]) {
      SetValue(id, kNone);
    }
    SetValue(trip.read, copy);
    SetStorage(trip.storage, builder().value(copy).storage);
  }

  inline static const ParallelSpec kOneGpu = {};
  std::vector<bool> travels_;                    ///< By storage.
  std::vector<std::vector<ValueId>> values_of_;  ///< By storage.
  ByNode saved_;
  ByNode left_;
  ByNode back_;
  ByNode gone_;
};

}  // namespace

OperatorGraph OffloadActivations(const OperatorGraph& graph) {
  const std::vector<Trip> trips = TripPlanner(graph).Plan();
  if (trips.empty()) return graph;
  return ActivationOffload(graph, trips).Rewrite();
}

}  // namespace foretell::parallel
