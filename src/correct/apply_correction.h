#pragma once

#include "foretell/correction.h"
#include "foretell/graph.h"
#include "foretell/prediction.h"

namespace foretell {

/// Memory by simulation, before learned figures.
struct SimulatedMemory {
  Figure figure;
  double cache_mib = 0;  ///< Prediction::cache_mib.
};

/// Corrects the figures of `prediction`, of `graph`, and their sources and
/// intervals. The host factor and the gap are in its estimate already. The
/// memory of one model is the `simulated` one, with a warning where the graph
/// lies outside of the runs, or that is unknown. Slices keep their ratios to
/// the whole device. Energy follows the latency unless it was learned. Throws
/// what GapOf throws.
void ApplyCorrection(const Correction& correction, const OperatorGraph& graph,
                     const SimulatedMemory& simulated, Prediction& prediction);

}  // namespace foretell
