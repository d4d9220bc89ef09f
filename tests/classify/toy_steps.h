#pragma once

#include <cstdint>
#include <vector>

#include "src/classify/ensemble.h"
#include "src/classify/step_inputs.h"

namespace foretell::classify {

/// A fully connected network whose memory is its simulated total.
LabelledStep ToyStep(double total_mib, std::int64_t layers = 3);

/// `count` of them, evenly from 1,000 to 9,000 MiB.
std::vector<LabelledStep> ToySteps(int count);

/// Two estimators of classes below and from 5,000 MiB on.
EnsembleInfo ToyInfo(EstimatorKind kind = EstimatorKind::kMlp);

}  // namespace foretell::classify
