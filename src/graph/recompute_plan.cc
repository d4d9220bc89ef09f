// What a block saves is what its forward pass made, no other forward operator
// reads and the backward pass still has. A block's results are not included:
// they are what the next block is called with.
//
// A reentrant checkpoint (torch/utils/checkpoint.py, CheckpointFunction) runs
// the whole block again and then a backward pass of its own, during which its
// variables hold the results and their gradients.
//
// Kept results (create_selective_checkpoint_contexts) live from the forward
// pass on: the second run takes each instead of the operator's result.

#include "src/graph/recompute_plan.h"

#include <algorithm>
#include <utility>

#include "src/graph/block_runs.h"

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
  Planner(const OperatorGraph& graph, const RecomputeSpec& spec,
          const BlockOf& block_of)
      : graph_(graph),
        spec_(spec),
        lives_(StorageLives(graph)),
        runs_(FindBlockRuns(graph, spec, block_of)),
        leaves_(graph.storages().size(), false),
        last_use_(graph.storages().size(), kNone),
        end_of_pass_(graph.nodes().size(), kNone) {
    plan_.early_death.assign(graph.storages().size(), kNever);
    plan_.freed_again.assign(graph.storages().size(), kNone);
    for (const BlockRun& run : runs_.runs) {
      plan_.blocks.push_back({.first = run.first, .last = run.last});
    }
    plan_.is_kept = std::move(runs_.is_kept);
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
    for (RecomputedBlock& block : plan_.blocks) {
      Complete(block);
      KeepResults(block);
      if (spec_.reentrant) HoldResults(block);
    }
    return std::move(plan_);
  }

 private:
  void FindUses() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (!IsForward(graph_.node(id))) continue;
      ForEachStorage(graph_, graph_.node(id), [&](StorageId storage) {
        last_use_[IndexOf(storage)] = id;
        if (RunAtBirth(storage) != runs_.run_of[IndexOf(id)]) {
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
    return birth == kNone ? kNone : runs_.run_of[IndexOf(birth)];
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

  bool IsKept(StorageId storage) const {
    const NodeId birth = lives_[IndexOf(storage)].birth;
    return birth != kNone && plan_.is_kept[IndexOf(birth)];
  }

  bool IsSaved(StorageId storage) const {
    return StaysForBackward(storage) && !IsKept(storage);
  }

  bool StaysForBackward(StorageId storage) const {
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
        if (!StaysForBackward(storage)) continue;
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

  /// A kept result that only the forward pass reads is freed where the second
  /// run has read it last, one that this run does not read with the inputs.
  void KeepResults(RecomputedBlock& block) {
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const StorageLife& life = lives_[IndexOf(id)];
      const bool is_own = life.birth >= block.first && life.birth <= block.last;
      if (!is_own || !IsKept(id) || life.death <= life.birth) continue;
      if (StaysForBackward(id)) {
        block.end = std::max(block.end, life.death);
      } else if (leaves_[IndexOf(id)] || life.death > block.stop) {
        block.inputs.insert(id);
      } else {
        plan_.freed_again[IndexOf(id)] = life.death;
      }
    }
  }

  /// Of the gradients, the oldest of each result's size.
  void HoldResults(RecomputedBlock& block) {
    block.stop = block.last;
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const NodeId birth = lives_[IndexOf(id)].birth;
      if (birth < block.first || birth > block.last) continue;
      if (!leaves_[IndexOf(id)]) continue;
      block.results.insert(id);
      const StorageId gradient = GradientOf(id, block);
      if (gradient != kNone) block.inputs.insert(gradient);
    }
  }

  StorageId GradientOf(StorageId result, const RecomputedBlock& block) const {
    StorageId oldest = kNone;
    for (StorageId id = 0; id < std::ssize(graph_.storages()); ++id) {
      const StorageLife& life = lives_[IndexOf(id)];
      const bool is_alive = life.birth > EndOfPass(block.last) &&
                            life.birth < block.reader &&
                            life.death >= block.reader && life.death != kNever;
      if (!is_alive ||
          graph_.storage(id).bytes != graph_.storage(result).bytes) {
        continue;
      }
      const bool is_older =
          oldest == kNone || life.birth < lives_[IndexOf(oldest)].birth;
      if (is_older) oldest = id;
    }
    return oldest;
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
  const RecomputeSpec& spec_;
  std::vector<StorageLife> lives_;
  BlockRuns runs_;
  std::vector<bool> leaves_;         ///< By storage: seen outside its block.
  std::vector<NodeId> last_use_;     ///< By storage, in the forward pass.
  std::vector<NodeId> end_of_pass_;  ///< By node.
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
                                const RecomputeSpec& spec,
                                const BlockOf& block_of) {
  return Planner(graph, spec, block_of).Plan();
}

}  // namespace foretell
