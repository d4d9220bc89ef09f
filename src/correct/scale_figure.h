#pragma once

#include "foretell/prediction.h"

namespace foretell {

/// Both ends of `interval` times `ratio`.
void Scale(Interval& interval, double ratio);

/// Scales what depends on a figure that grows by `ratio`: the parts of a
/// latency, and energy at the same power unless that was learned; the parts of
/// an energy. The figure itself is not changed.
void ScaleCompanions(Target target, double ratio, Prediction& prediction);

}  // namespace foretell
