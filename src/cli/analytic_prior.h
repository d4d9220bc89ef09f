#pragma once

#include <string>

#include "foretell/cost.h"
#include "foretell/device.h"
#include "training/prior.h"

namespace foretell::cli {

/// How operators are dispatched from `host`, "python" or "cpp".
CostOptions CostOptionsOf(const std::string& host);

/// Predictor::Analytic as a prior; `host` is "python" or "cpp".
training::Prior AnalyticPrior(const Environment& environment,
                              const std::string& host);

}  // namespace foretell::cli
