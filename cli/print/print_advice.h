#pragma once

#include <string>

#include "src/predict/advice_json.h"

namespace foretell::cli {

/// The step as it is, a table of remedies, the smallest combination that fits
/// and where the unchanged step would.
std::string FormatAdvice(const AdvisedModel& advised);

}  // namespace foretell::cli
