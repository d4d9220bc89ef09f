#pragma once

#include <set>
#include <string>
#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// Modules whose parameters are gathered together: fully_shard's groups.
struct ShardedUnit {
  std::string
      path;  ///< Empty for the root, which has the parameters outside blocks.
  std::vector<ParameterIndex> parameters;
  NodeId first_forward = kNone;
  NodeId last_forward = kNone;
  NodeId first_backward = kNone;
  NodeId last_backward = kNone;
  NodeId last_again = kNone;  ///< The last node that is computed again.
  /// Storages from other units that have gradients: if there are any, autograd
  /// reports the end of the unit's backward pass.
  std::set<StorageId> inputs;

  /// For labels: the path, or "root".
  std::string Name() const { return path.empty() ? "root" : path; }
};

/// The units of a step: the root first, then blocks with parameters in the
/// order of their forward passes. `backward` is the first node of the network's
/// own backward pass: that of the loss if the network returns it.
struct ShardedUnits {
  std::vector<ShardedUnit> units;
  NodeId backward = kNone;
};

/// Blocks are those of `spec`; a parameter that two of them read is the root's.
/// Throws Error(kInvalidArgument) for blocks without an operator.
ShardedUnits FindUnits(const OperatorGraph& graph, const StepFacts& facts,
                       const ParallelSpec& spec);

}  // namespace foretell::parallel
