#pragma once

#include <vector>

#include "src/parallel/pipeline_cut.h"

namespace foretell::parallel {

/// What a micro-batch leaves to the schedule of the last stage.
struct PipelineResult {
  StorageId storage = kNone;
  NodeId node = kNone;  ///< That makes it.
  int micro_batch = 0;
  bool is_loss = false;  ///< Else a result of the network.
};

/// Results of the network and losses, in the order of micro-batches. `graph`
/// marks the results of the last micro-batch; the others run the same nodes.
std::vector<PipelineResult> FindResults(const OperatorGraph& graph,
                                        const PipelineCut& cut);

}  // namespace foretell::parallel
