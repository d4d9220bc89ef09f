#pragma once

#include <set>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// When a storage was there in a recorded step.
struct RecordedLife {
  NodeId birth = kNone;  ///< kNone: before the first node.
  bool is_freed = false;
};

/// By storage of `step`.
std::vector<RecordedLife> RecordedLives(const OperatorGraph& step);

/// What earlier steps have left: storages that exist before the first node and
/// have no tensor of `step`.
std::set<StorageId> LeftByEarlierSteps(const OperatorGraph& step);

}  // namespace foretell::runtime
