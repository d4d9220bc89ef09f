#pragma once

#include <string>
#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// The pipeline's stages of a forward pass.
struct ForwardStages {
  /// By node: the stage, for nodes of the forward pass and those that
  /// recompute blocks; kNone for others.
  std::vector<int> stage_of;
  std::vector<std::string> blocks;  ///< By stage: "blocks.0 to blocks.3".
};

/// Cuts the network before `spec.split`, else between numbered modules such
/// that the stage with the most multiply-accumulates has as few as possible.
/// Operators before the first block are of the first stage, those outside
/// blocks of the stage of the block before them.
///
/// Throws Error(kInvalidArgument) for fewer blocks than stages, and for paths
/// without an operator or in another number or order than the stages need.
ForwardStages CutForward(const OperatorGraph& graph, const StepFacts& facts,
                         const ParallelSpec& spec);

}  // namespace foretell::parallel
