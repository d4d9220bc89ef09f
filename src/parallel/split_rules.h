#pragma once

#include "src/parallel/tensor_split.h"

namespace foretell::parallel {

/// Propagates known splits of operands and results of `node` to the others, so
/// that every GPU can run it on its own part. Returns false if that is
/// impossible, or if there is no rule for the operator. For layers see
/// SharedLayers.
bool FollowSplits(const Node& node, SplitBoard& board);

}  // namespace foretell::parallel
