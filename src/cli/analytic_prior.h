#pragma once

#include <string>

#include "foretell/device.h"
#include "training/prior.h"

namespace foretell::cli {

/// Predictor::Analytic as a prior; `host` is "python" or "cpp".
training::Prior AnalyticPrior(const Environment& environment,
                              const std::string& host);

}  // namespace foretell::cli
