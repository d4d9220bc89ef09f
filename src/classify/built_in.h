#pragma once

#include <span>
#include <string_view>

#include "src/classify/ensemble.h"

namespace foretell::classify {

/// The ensembles that the library carries (data/predictors/classes), learned
/// from GPUMemNet's runs on an A100 40 GB. Fully connected networks, which are
/// small, have classes of 1,000 MiB; all others of 8,000 MiB.
const Ensemble& BuiltInEnsemble(const StepInputs& step, EstimatorKind kind);

/// Names of the optimizers whose steps those ensembles learned from.
std::span<const std::string_view> LearnedOptimizers(const StepInputs& step);

/// True of a step whose layers with weights are linear or norms.
bool IsFullyConnected(const StepInputs& step);

}  // namespace foretell::classify
