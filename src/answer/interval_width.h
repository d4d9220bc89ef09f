#pragma once

#include "foretell/prediction.h"

namespace foretell {

/// The true value should lie between value / below and value * above; both
/// >= 1.
struct WidthFactors {
  double below = 1;
  double above = 1;
};

/// How far the measured value may be from the analytic latency or energy of
/// `prediction` on a known host, from its run, GPUs and cost. The more of the
/// GPU's time few operators take, the wider: errors of many even out.
WidthFactors ModelFactors(const Prediction& prediction, Target target);

}  // namespace foretell
