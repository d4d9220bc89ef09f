#pragma once

#include "foretell/predictor.h"

namespace foretell {

/// Both ends of `interval` times `ratio`.
void Scale(Interval& interval, double ratio);

/// Lets what goes with a figure that grows by `ratio` follow: the parts of a
/// latency, and energy at the same power unless that was learned; the parts of
/// an energy. The figure itself stays as it is.
void ScaleCompanions(Target target, double ratio, Prediction& prediction);

}  // namespace foretell
