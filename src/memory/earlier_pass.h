#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::memory {

/// The allocations of a process that runs a forward pass over other samples,
/// with autograd, before the first of its training steps: parameters and
/// buffers of `graph`, allocations of the forward operators of `earlier` until
/// the result is freed, then the schedule of `graph`. cuBLAS's workspace is
/// allocated by that pass and stays.
///
/// torchsummary.summary runs such a pass, of two samples, to print a table
/// (torchsummary 1.5.1, torchsummary.py: `torch.rand(2, *in_size)`, no
/// no_grad). Its segments are too small for a larger batch and stay reserved.
///
/// `earlier` is a training graph of the same network.
std::vector<AllocationEvent> EventsAfterPass(const OperatorGraph& graph,
                                             const OperatorGraph& earlier,
                                             const MemoryOptions& options);

/// Device memory of such a process, context included, in bytes.
struct HeldAfterPass {
  std::int64_t total = 0;  ///< Without a limit.
  /// Within `options.device`; empty if the step does not fit.
  std::optional<std::int64_t> on_device;
};
HeldAfterPass SimulateAfterPass(const OperatorGraph& graph,
                                const OperatorGraph& earlier,
                                const MemoryOptions& options);

}  // namespace foretell::memory
