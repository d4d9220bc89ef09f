#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/snapshot/predicted_step.h"
#include "src/snapshot/recorded_memory.h"
#include "src/snapshot/stack_words.h"

namespace foretell::snapshot {

/// Index of the counterpart of each of `live` in `tensors`: the first tensor of
/// the same size, rounded as the allocator does, that has none yet, and whose
/// role a block of that origin can have. Empty for workspaces and for a block
/// without a counterpart. Both lists are in the order of birth.
std::vector<std::optional<std::size_t>> MatchBlocks(
    const std::vector<RecordedBlock>& live,
    const std::vector<PredictedTensor>& tensors, const StackWords& words);

}  // namespace foretell::snapshot
