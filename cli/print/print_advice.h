#pragma once

#include <string>

#include "src/judge/advice_json.h"

namespace foretell::cli {

/// The unchanged step, a table of remedies, the smallest combination that fits
/// and the devices on which the unchanged step fits.
std::string FormatAdvice(const AdvisedModel& advised);

}  // namespace foretell::cli
