#pragma once

#include "src/parallel/tensor_split.h"

namespace foretell::parallel {

/// Demands of all operands and results of `node` what the splits of some of
/// them imply, so that every GPU can run it on what it has alone. False where
/// it cannot, or where no rule is known of the operator. Layers are not its
/// business: see SharedLayers.
bool FollowSplits(const Node& node, SplitBoard& board);

}  // namespace foretell::parallel
