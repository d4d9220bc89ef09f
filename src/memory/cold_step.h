#pragma once

#include <cstdint>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::memory {

/// Peaks of one step from an empty allocator, in bytes. Where the step does not
/// fit the allocator's limit they are those up to the request that failed.
struct ColdStep {
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  bool fits = true;
};

/// Replays the very first step that a process runs: parameters, buffers and
/// inputs, the forward pass and the backward pass. Optimizer state, which is
/// made after that step's peak, and the optimizer itself are left out; so is
/// what an earlier step left behind. The context of `options` is not used.
///
/// A replay of later steps depends on how segments were cut before, by an
/// optimizer and a loop that published labels do not state.
ColdStep ReplayColdStep(const OperatorGraph& graph,
                        const MemoryOptions& options);

}  // namespace foretell::memory
