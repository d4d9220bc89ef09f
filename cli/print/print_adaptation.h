#pragma once

#include <string>

#include "src/correct/fit_correction.h"

namespace foretell::cli {

/// "5.1 % / 7.4 %": the median and the mean.
std::string ErrorsText(const RowErrors& errors);

/// A row per corrected figure: what was fitted, and errors before and after.
std::string FormatAdaptation(const Correction& correction);

/// "latency 5.1 % before, 6.3 % after" of each figure that got worse.
std::string FormatWorse(const CorrectionFit& fit);

}  // namespace foretell::cli
