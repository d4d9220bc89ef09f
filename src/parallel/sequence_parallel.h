#pragma once

#include <span>

#include "foretell/graph.h"
#include "foretell/parallel.h"
#include "src/parallel/vocabulary.h"

namespace foretell::parallel {

/// One GPU's step of tensor parallelism with tokens of its own between layers:
/// sums over GPUs are scattered, and gathered for what needs all tokens.
/// `step` is that with whole sequences, as SharedLayers makes it.
///
/// Throws Error(kInvalidArgument) as SequenceRegion.
BorderedStep ShareSequences(const BorderedStep& step, const ParallelSpec& spec);

}  // namespace foretell::parallel
