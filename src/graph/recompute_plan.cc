// What a block saves is what its forward pass made, no other forward operator
// reads and the backward pass still has. A block's results are not included:
// they are what the next block is called with.

#include "src/graph/recompute_plan.h"

#include <algorithm>
#include <string>

namespace foretell {
namespace {

bool IsForward(const Node& node) { return node.phase == Phase::kForward; }

/// Calls `use` with every storage that the node reads or writes.
template <typename Use>
void ForEachStorage(const OperatorGraph& graph, const Node& node,
                    const Use& use) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const ValueId value : *values) use(graph.value(value).storage);
  }
}

class Planner {
 public:
  Planner(const OperatorGraph& graph, const BlockOf& block_of)
      : graph_(graph),
        lives_(StorageLives(graph)),
        run_of_(graph.nodes().size(), kNone),
        leaves_(graph.storages().size(), false),
        last_use_(graph.storages().size(), kNone),
        end_of_pass_(graph.nodes().size(), kNone) {
    plan_.early_death.assign(graph.storages().size(), kNever);
    FindRuns(block_of);
    FindPasses();
    FindUses();
  }

  RecomputePlan Plan() {
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      if (IsSaved(id)) plan_.blocks[IndexOf(RunAtBirth(id))].saved.insert(id);
    }
    FindReaders();
    std::erase_if(plan_.blocks, [](const RecomputedBlock& block) {
      return block.reader == kNone;
    });
    for (RecomputedBlock& block : plan_.blocks) Complete(block);
    return std::move(plan_);
  }

 private:
  /// Operators without a path belong to the block on both sides of them.
  void FindRuns(const BlockOf& block_of) {
    std::string open;
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (IsForward(node) && node.scope.empty()) continue;
      const std::string block = IsForward(node) ? block_of(node.scope) : "";
      if (block.empty() || block != open) {
        open = block;
        if (block.empty()) continue;
        plan_.blocks.push_back({.first = id, .last = id});
      }
      plan_.blocks.back().last = id;
    }
    for (std::size_t run = 0; run < plan_.blocks.size(); ++run) {
      const RecomputedBlock& block = plan_.blocks[run];
      std::fill(run_of_.begin() + block.first, run_of_.begin() + block.last + 1,
                static_cast<std::int32_t>(run));
    }
  }

  void FindUses() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (!IsForward(graph_.node(id))) continue;
      ForEachStorage(graph_, graph_.node(id), [&](StorageId storage) {
        last_use_[IndexOf(storage)] = id;
        if (RunAtBirth(storage) != run_of_[IndexOf(id)]) {
          leaves_[IndexOf(storage)] = true;
        }
      });
    }
    for (const ValueId output : graph_.outputs()) {
      leaves_[IndexOf(graph_.value(output).storage)] = true;
    }
  }

  std::int32_t RunAtBirth(StorageId storage) const {
    const NodeId birth = lives_[IndexOf(storage)].birth;
    return birth == kNone ? kNone : run_of_[IndexOf(birth)];
  }

  /// Last operator of the forward pass that `id` belongs to.
  NodeId EndOfPass(NodeId id) const { return end_of_pass_[IndexOf(id)]; }

  void FindPasses() {
    const auto count = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id = count - 1; id >= 0; --id) {
      const bool goes_on = id + 1 < count && IsForward(graph_.node(id + 1));
      end_of_pass_[IndexOf(id)] = goes_on ? end_of_pass_[IndexOf(id + 1)] : id;
    }
  }

  bool IsSaved(StorageId storage) const {
    const StorageLife& life = lives_[IndexOf(storage)];
    return RunAtBirth(storage) != kNone && !leaves_[IndexOf(storage)] &&
           life.death != kNever && life.death > EndOfPass(life.birth);
  }

  /// The first operators of the backward pass that read what blocks saved.
  void FindReaders() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (graph_.node(id).phase != Phase::kBackward) continue;
      for (const ValueId value : graph_.node(id).inputs) {
        const StorageId storage = graph_.value(value).storage;
        if (!IsSaved(storage)) continue;
        NodeId& reader = plan_.blocks[IndexOf(RunAtBirth(storage))].reader;
        if (reader == kNone) reader = id;
      }
    }
  }

  void Complete(RecomputedBlock& block) {
    for (const StorageId storage : block.saved) {
      plan_.early_death[IndexOf(storage)] = EarlyDeath(storage);
      const NodeId death = lives_[IndexOf(storage)].death;
      if (death < block.reader) block.unneeded.insert(storage);
      block.end = std::max(block.end, death);
    }
    for (const StorageId storage : block.unneeded) block.saved.erase(storage);
    for (NodeId id = block.first; id <= block.last; ++id) {
      ForEachStorage(graph_, graph_.node(id), [&](StorageId storage) {
        const NodeId birth = lives_[IndexOf(storage)].birth;
        const bool is_own = birth >= block.first && birth <= block.last;
        if (!is_own) block.inputs.insert(storage);
        if (block.saved.contains(storage) && IsResult(id, storage)) {
          block.stop = id;
        }
      });
    }
    for (const StorageId storage : block.saved) {
      block.stop = std::max(block.stop, lives_[IndexOf(storage)].birth);
    }
  }

  bool IsResult(NodeId id, StorageId storage) const {
    return std::ranges::any_of(graph_.node(id).outputs, [&](ValueId value) {
      return graph_.value(value).storage == storage;
    });
  }

  /// Within the block, after its last use; casts of parameters stay in
  /// autocast's cache until the forward pass is over.
  NodeId EarlyDeath(StorageId storage) const {
    const NodeId birth = lives_[IndexOf(storage)].birth;
    const Node& maker = graph_.node(birth);
    const bool is_cached = maker.FindAttribute(kAutocastAttribute) != nullptr &&
                           !maker.inputs.empty() &&
                           graph_.value(maker.inputs.front()).producer == kNone;
    return is_cached ? EndOfPass(birth)
                     : std::max(birth, last_use_[IndexOf(storage)]);
  }

  const OperatorGraph& graph_;
  std::vector<StorageLife> lives_;
  std::vector<std::int32_t> run_of_;  ///< By node: index of its block.
  std::vector<bool> leaves_;          ///< By storage: seen outside its block.
  std::vector<NodeId> last_use_;      ///< By storage, in the forward pass.
  std::vector<NodeId> end_of_pass_;   ///< By node.
  RecomputePlan plan_;
};

}  // namespace

std::vector<StorageLife> StorageLives(const OperatorGraph& graph) {
  std::vector<StorageLife> lives(graph.storages().size());
  for (const MemoryEvent& event : graph.events()) {
    StorageLife& life = lives[IndexOf(event.storage)];
    const bool is_birth = event.kind == MemoryEvent::Kind::kAllocate;
    (is_birth ? life.birth : life.death) = event.node;
  }
  return lives;
}

RecomputePlan PlanRecomputation(const OperatorGraph& graph,
                                const BlockOf& block_of) {
  return Planner(graph, block_of).Plan();
}

}  // namespace foretell
