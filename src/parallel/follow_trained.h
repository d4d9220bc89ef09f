#pragma once

#include <span>
#include <vector>

#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// `trained` of `step` by the storages of `lowered`, the same step as another
/// runtime runs it, whose optimizer has the same operators in the same order.
///
/// Throws Error(kInternal) if it has not.
std::vector<TrainedParameter> FollowTrained(
    const OperatorGraph& step, const OperatorGraph& lowered,
    std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
