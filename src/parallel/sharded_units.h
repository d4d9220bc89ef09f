#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// Nodes from `first` to `last`, both included.
struct NodeSpan {
  NodeId first = kNone;
  NodeId last = kNone;
};

/// Modules whose parameters are gathered together: fully_shard's groups.
struct ShardedUnit {
  std::string
      path;  ///< Empty for the root, which has the parameters outside blocks.
  std::vector<ParameterIndex> parameters;
  /// One for each pass: several on a GPU of a pipeline, else one.
  std::vector<NodeSpan> forwards;
  std::vector<NodeSpan> backwards;
  NodeId last_again = kNone;  ///< The last node that is computed again.
  /// Storages from other units that have gradients: if there are any, autograd
  /// reports the end of the unit's backward pass.
  std::set<StorageId> inputs;

  /// For labels: the path, or "root".
  std::string Name() const { return path.empty() ? "root" : path; }
  NodeId FirstBackward() const {
    return backwards.empty() ? kNone : backwards.front().first;
  }
  NodeId LastBackward() const {
    return backwards.empty() ? kNone : backwards.back().last;
  }
};

/// The units of a step: the root first, then blocks with parameters in the
/// order of their forward passes.
struct ShardedUnits {
  std::vector<ShardedUnit> units;
  /// The first node of each of the network's own backward passes: that of the
  /// loss if the network returns it.
  std::vector<NodeId> backwards;
};

/// Paths of the blocks of `spec` that the forward pass runs, in order; each has
/// hooks before and after it.
std::vector<std::string> BlockPaths(const OperatorGraph& graph,
                                    const ParallelSpec& spec);

/// Blocks are those of `spec`; a parameter that two of them read is the root's.
/// With `has_experts` the lists of experts are blocks, too, within theirs.
/// `passes`: the first node of each pass of a pipeline's GPU; empty for other
/// steps. Throws Error(kInvalidArgument) for blocks without an operator.
ShardedUnits FindUnits(const OperatorGraph& graph, const StepFacts& facts,
                       const ParallelSpec& spec, std::span<const NodeId> passes,
                       bool has_experts);

}  // namespace foretell::parallel
