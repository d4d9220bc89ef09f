#pragma once

#include <vector>

#include "foretell/memory.h"
#include "src/memory/schedule.h"

namespace foretell::memory {

/// The schedule of `passes` with the frees of FSDP 1 that wait for another
/// stream as a kDrop in their place and a kFree where the host has waited for
/// that stream; awaited_frees.cc says where. Unchanged for any other step.
std::vector<ScheduledEvent> WithAwaitedFrees(
    const PassSequence& passes, std::vector<ScheduledEvent> schedule);

}  // namespace foretell::memory
