#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/index_of.h"
#include "src/graph/recompute_spec.h"

namespace foretell {

/// Death of a storage that is never freed.
inline constexpr NodeId kNever = std::numeric_limits<NodeId>::max();

/// A run of forward operators to recompute.
struct RecomputedBlock {
  NodeId first = kNone;
  NodeId last = kNone;
  NodeId stop = kNone;        ///< The last one that is computed again.
  NodeId reader = kNone;      ///< Before it the block is computed again.
  NodeId end = kNone;         ///< During it the last thing that was saved dies.
  std::set<StorageId> saved;  ///< Dies early and comes back.
  std::set<StorageId> unneeded;  ///< Dies early, and nothing reads it again.
  /// What the block was called with; with reentrant checkpoints also the
  /// gradients of its results.
  std::set<StorageId> inputs;
  /// With reentrant checkpoints: results, whose copies live as `inputs` do.
  std::set<StorageId> results;
};

/// When a storage was born and died, by node; kNone before the first node.
struct StorageLife {
  NodeId birth = kNone;
  NodeId death = kNever;
};
std::vector<StorageLife> StorageLives(const OperatorGraph& graph);

/// The recomputed blocks of `graph`, and the time at which each storage is
/// freed early.
struct RecomputePlan {
  std::vector<RecomputedBlock> blocks;
  std::vector<NodeId> early_death;  ///< By storage; kNever: as it was.
  /// By node: its results are kept instead of being computed again.
  std::vector<bool> is_kept;
  /// By storage of such a result: the operator whose second run frees it;
  /// kNone: it dies as it did.
  std::vector<NodeId> freed_again;
};
/// Requires BlocksOf `spec`, or of one of its levels, as `block_of`.
RecomputePlan PlanRecomputation(const OperatorGraph& graph,
                                const RecomputeSpec& spec,
                                const BlockOf& block_of);

}  // namespace foretell
