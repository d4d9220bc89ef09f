#pragma once

#include <cstdint>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/recompute_spec.h"

namespace foretell {

/// Forward operators of one call of a block, from `first` to `last`.
struct BlockRun {
  NodeId first = kNone;
  NodeId last = kNone;
};

/// The calls of the blocks that `block_of` finds, in their order. Operators
/// without a path belong to the block on both sides of them; a block that is
/// called twice in a row counts as called once.
std::vector<BlockRun> RunsOf(const OperatorGraph& graph,
                             const BlockOf& block_of);

/// The calls of the blocks that a step recomputes.
struct BlockRuns {
  std::vector<BlockRun> runs;
  std::vector<std::int32_t> run_of;  ///< By node: index in `runs`, or kNone.
  /// By node: its results are kept instead of being computed again.
  std::vector<bool> is_kept;
};

/// Requires BlocksOf `spec`, or of one of its levels, as `block_of`.
BlockRuns FindBlockRuns(const OperatorGraph& graph, const RecomputeSpec& spec,
                        const BlockOf& block_of);

}  // namespace foretell
