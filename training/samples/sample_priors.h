#pragma once

#include "training/samples/selection.h"

namespace foretell::training {

/// What a prior says of each draft: that of the options, or the simulated label
/// of the same point and device, called "analytic". Figures that the prior says
/// nothing of are masked and counted, as they cannot be learned as its ratio;
/// drafts without any other go. Does nothing without a prior.
///
/// Throws what the prior throws, and Error(kInvalidArgument) when no draft is
/// left.
void AddPriors(Selection& selection);

}  // namespace foretell::training
