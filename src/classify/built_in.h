#pragma once

#include "src/classify/ensemble.h"

namespace foretell::classify {

/// The ensembles that the library carries (data/predictors/classes), learned
/// from GPUMemNet's runs on an A100 40 GB. Fully connected networks, which are
/// small, have classes of 1,000 MiB; all others of 8,000 MiB.
const Ensemble& BuiltInEnsemble(const StepInputs& step, EstimatorKind kind);

/// True of a step whose layers with weights are linear or norms.
bool IsFullyConnected(const StepInputs& step);

}  // namespace foretell::classify
