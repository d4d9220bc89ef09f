#pragma once

#include <string>

#include "src/predict/fit_adaptation.h"

namespace foretell::cli {

/// A row per adapted figure: what was fitted, and errors before and after.
std::string FormatAdaptation(const Adaptation& adaptation);

/// "latency 5.1 % before, 6.3 % after" of each figure that got worse.
std::string FormatWorse(const AdaptationFit& fit);

}  // namespace foretell::cli
