#pragma once

#include <string>
#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// Where a step runs on a pipeline.
struct PipelineCut {
  /// By node, ascending: the stage; several for what needs no parameter, which
  /// every stage computes for itself, and for sums of gradients of a parameter
  /// of several stages. Empty for the optimizer's nodes.
  std::vector<std::vector<int>> stages_of;
  std::vector<bool> adds_shared;    ///< By node: such a sum.
  std::vector<int> micro_batch_of;  ///< By node.
  std::vector<NodeId> maker_of;     ///< By storage: who allocates it.
  std::vector<std::string> blocks;  ///< By stage, for reports.
};

/// Cuts a step whose batches are micro-batches, one after another. Errors as
/// CutForward.
PipelineCut CutStep(const OperatorGraph& graph, const StepFacts& facts,
                    const ParallelSpec& spec);

}  // namespace foretell::parallel
