#pragma once

#include "foretell/prediction.h"

namespace foretell {

/// Adds latency and energy of `pass` to those of `sum`, with what they consist
/// of, their MIG profiles and the warnings; the bound is that of the longer.
/// CostEstimate::nodes stay those of `sum`.
void AddTimes(const Prediction& pass, Prediction& sum);

}  // namespace foretell
