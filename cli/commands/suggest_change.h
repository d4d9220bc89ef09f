#pragma once

#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "foretell/program.h"
#include "src/predict/report.h"

namespace foretell::cli {

/// The change that is worth a try first, simulated as the step itself was:
/// what leaves the numerics alone where the step does not fit, automatic mixed
/// precision where it is only slow. Empty where nothing that applies saves a
/// tenth of the memory or of the time. `foretell advise` tries more.
std::optional<ReportSuggestion> SuggestChange(const ModelOptions& model,
                                              const PredictorFlags& flags,
                                              const Program& program,
                                              const Trace& trace,
                                              const Report& report);

}  // namespace foretell::cli
