#include "src/parallel/held_inputs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/graph/recompute_plan.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

class HeldSearch {
 public:
  HeldSearch(const OperatorGraph& graph, const StepFacts& facts,
             const std::vector<ShardedUnit>& units)
      : graph_(graph),
        facts_(facts),
        units_(units),
        lives_(StorageLives(graph)) {}

  HeldTensors Run() {
    std::set<StorageId> inputs;
    for (const ShardedUnit& unit : units_) {
      if (unit.path.empty() || unit.last_again == kNone) continue;
      if (!IsFrozen(unit)) continue;
      const NodeId reader = NextBackward(unit);
      std::multiset<std::int64_t> sizes;
      for (const StorageId input : unit.inputs) {
        if (!DiesInPass(input)) continue;
        inputs.insert(input);
        sizes.insert(graph_.storage(input).bytes);
      }
      if (reader != kNever) HoldGradients(unit, reader, std::move(sizes));
    }
    held_.inputs.assign(inputs.begin(), inputs.end());
    std::ranges::stable_sort(held_.gradients, {}, &HeldGradient::node);
    return std::move(held_);
  }

 private:
  bool IsFrozen(const ShardedUnit& unit) const {
    return std::ranges::any_of(unit.parameters, [this](ParameterIndex index) {
      return facts_.parameters[IndexOf(index)].gradient == kNone;
    });
  }

  /// Whether it is of the passes alone: others have ends of their own.
  bool DiesInPass(StorageId id) const {
    const StorageLife& life = lives_[IndexOf(id)];
    return facts_.OwnerOf(id) == kNone && life.birth != kNone &&
           life.death <= facts_.last_backward;
  }

  /// What the unit's backward pass leaves to that of the block before it: the
  /// oldest of each of `sizes`, as later ones are of the block before it, whose
  /// first operators may have no path.
  void HoldGradients(const ShardedUnit& unit, NodeId reader,
                     std::multiset<std::int64_t> sizes) {
    std::set<StorageId> found;
    for (NodeId id = unit.FirstBackward(); id < reader; ++id) {
      for (const ValueId output : graph_.node(id).outputs) {
        const StorageId storage = graph_.value(output).storage;
        const StorageLife& life = lives_[IndexOf(storage)];
        const auto size = sizes.find(graph_.storage(storage).bytes);
        const bool is_left = size != sizes.end() && DiesInPass(storage) &&
                             life.death >= reader &&
                             life.birth > facts_.last_forward;
        if (is_left && found.insert(storage).second) sizes.erase(size);
      }
    }
    for (const StorageId storage : found) {
      held_.gradients.push_back({.node = reader, .storage = storage});
    }
  }

  /// The first node of the backward pass of the block before `unit`; kNever for
  /// the first block.
  NodeId NextBackward(const ShardedUnit& unit) const {
    NodeId next = kNever;
    for (const ShardedUnit& other : units_) {
      const bool follows =
          !other.path.empty() && other.FirstBackward() > unit.LastBackward();
      if (follows) next = std::min(next, other.FirstBackward());
    }
    return next;
  }

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  const std::vector<ShardedUnit>& units_;
  std::vector<StorageLife> lives_;
  HeldTensors held_;
};

}  // namespace

HeldTensors FindHeldTensors(const OperatorGraph& graph, const StepFacts& facts,
                            const std::vector<ShardedUnit>& units) {
  return HeldSearch(graph, facts, units).Run();
}

}  // namespace foretell::parallel
