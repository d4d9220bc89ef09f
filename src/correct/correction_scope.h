#pragma once

#include <string>
#include <vector>

#include "foretell/correction.h"
#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/host.h"
#include "foretell/memory.h"
#include "foretell/run.h"

namespace foretell {

/// Refuses a correction of another device, environment, run, host or
/// allocator, and one that was measured on a CPU: Error(kInvalidArgument) names
/// its origin, what differs and both values. The environment matters where
/// memory is corrected, the host and what calls the operators where latency or
/// energy is, the optimizer in training, the allocator to one model.
void RequireInScope(const Correction& correction, const DeviceSpec& device,
                    const ContextModel& context, const Run& run,
                    const HostSpec& host,
                    const CachingAllocatorConfig& allocator);

/// The host of corrected predictions: the correction's, or the `asked` one if
/// neither latency nor energy is corrected.
const HostSpec& HostOf(const Correction& correction, const HostSpec& asked);

/// What a correction adds to the simulated memory of one graph.
struct GapAt {
  double mib = 0;
  /// What lies outside of the runs, "batch 64, of 1 to 32": the gap is that of
  /// the nearest point inside. Factors, sizes that are not factors, and counts
  /// of ScopeStep.
  std::vector<std::string> outside = {};
};

/// Throws Error(kInvalidArgument) that names the correction's origin and both
/// models if `graph` is of another model, and for an input that it lacks.
GapAt GapOf(const Correction& correction, const OperatorGraph& graph);

}  // namespace foretell
