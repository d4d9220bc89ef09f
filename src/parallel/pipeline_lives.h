#pragma once

#include <vector>

#include "src/parallel/pipeline_transfers.h"

namespace foretell::parallel {

/// What one GPU of a pipeline runs, and how long it keeps what it makes.
struct PipelineLives {
  /// Nodes in the order in which the GPU runs them.
  std::vector<NodeId> order;
  /// By action of the GPU: its nodes are order[begins[i]] up to
  /// order[begins[i + 1]].
  std::vector<std::size_t> begins;
  std::vector<bool> has_storage;  ///< By storage.
  std::vector<bool> is_received;  ///< By storage: a buffer of all steps.
  std::vector<bool> is_retimed;   ///< By storage: its free is in frees_after.
  /// By place in `order`: storages that are freed after the node.
  std::vector<std::vector<StorageId>> frees_after;
  /// By place in `order`: storages that are allocated before the node, whose
  /// maker runs elsewhere.
  std::vector<std::vector<StorageId>> births_before;
};

/// Of GPU `gpu`, whose passes are `actions`. Throws Error(kUnsupported) for a
/// step of another number of micro-batches than `spec` states.
PipelineLives LivesOf(const OperatorGraph& graph, const StepFacts& facts,
                      const PipelineCut& cut, const ParallelSpec& spec,
                      const std::vector<PipelineTransfer>& transfers, int gpu,
                      const std::vector<PipelineAction>& actions);

}  // namespace foretell::parallel
