#pragma once

#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// Parallelize for kPipeline: the GPU whose tensors take most bytes at once,
/// with OperatorGraph::pipeline of all. `graph` has MicroBatchesOf(plan)
/// batches, one after another. Throws Error(kInvalidArgument) for a network
/// that cannot be cut into the stages, and for a number of micro-batches that
/// does not suit the schedule.
OperatorGraph CutIntoStages(const OperatorGraph& graph,
                            const ParallelSpec& plan,
                            std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
