#pragma once

#include <cstdint>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::memory {

/// Peaks of one step from an empty allocator, in bytes. If the step does not
/// fit the allocator's limit, they are those up to the failed request.
struct ColdStep {
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  bool fits = true;
};

/// Replays the first step of a process: parameters, buffers and inputs, the
/// forward pass and the backward pass. Leaves out the optimizer and its state,
/// which is allocated after that step's peak, and memory left by an earlier
/// step. The context of `options` is not used.
///
/// A replay of later steps would depend on earlier splits of segments, hence on
/// an optimizer and a loop that published labels do not state.
ColdStep ReplayColdStep(const OperatorGraph& graph,
                        const MemoryOptions& options);

}  // namespace foretell::memory
