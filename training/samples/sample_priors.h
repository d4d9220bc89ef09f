#pragma once

#include "training/samples/selection.h"

namespace foretell::training {

/// Adds a prior to each draft: that of the options, or the simulated label of
/// the same point and device, called "analytic". Figures that the prior lacks
/// are masked and counted, since they cannot be learned as a ratio to it;
/// drafts left without any figure are dropped. Does nothing without a prior.
///
/// Throws what the prior throws, and Error(kInvalidArgument) when no draft is
/// left.
void AddPriors(Selection& selection);

}  // namespace foretell::training
