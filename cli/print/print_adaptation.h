#pragma once

#include <string>

#include "src/correct/fit_correction.h"

namespace foretell::cli {

/// A row per corrected figure: what was fitted, and errors before and after.
std::string FormatAdaptation(const Correction& correction);

/// "latency 5.1 % before, 6.3 % after" of each figure that got worse.
std::string FormatWorse(const CorrectionFit& fit);

}  // namespace foretell::cli
