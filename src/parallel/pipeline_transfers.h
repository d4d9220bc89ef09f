#pragma once

#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/pipeline_cut.h"
#include "src/parallel/pipeline_schedule.h"

namespace foretell::parallel {

/// A tensor that one GPU of a pipeline sends to another.
struct PipelineTransfer {
  int from = 0;
  int to = 0;
  std::int64_t tag = 0;  ///< Another one for each.
  StorageId storage = kNone;
  std::vector<ValueId> values;  ///< The receiver's, all of the storage.
  PipelineAction made;          ///< The pass after which it is sent.
  PipelineAction read;          ///< The pass before which it is received.
};

/// All transfers of a step, in the order in which they are read.
std::vector<PipelineTransfer> FindTransfers(const OperatorGraph& graph,
                                            const StepFacts& facts,
                                            const PipelineCut& cut,
                                            const ParallelSpec& spec);

}  // namespace foretell::parallel
