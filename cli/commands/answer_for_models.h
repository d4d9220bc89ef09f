#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "cli/commands/exit_code.h"
#include "src/predict/report.h"

namespace foretell::cli {

/// A command's JSON document where there is but an error.
using ErrorDocument = nlohmann::ordered_json (*)(const ReportError& error);

/// What `run` returns, the answer for all of `models`, mostly one. Where it
/// throws an Error, that is printed, and on stdout its document, of the first
/// model, unless null; the exit status is ExitCodeOf's.
ExitCode AnswerForModels(std::span<const std::string> models,
                         const std::function<ExitCode()>& run,
                         ErrorDocument document = nullptr);

}  // namespace foretell::cli
