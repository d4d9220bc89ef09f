#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands/exit_code.h"
#include "src/predict/report.h"

namespace foretell::cli {

/// A command's JSON document when there is only an error.
using ErrorDocument = nlohmann::ordered_json (*)(const ReportError& error);

/// For commands that print a list of results: an empty list, and the error.
nlohmann::ordered_json NoResults(const ReportError& error);

/// Returns what `run` returns, the answer for all of `models`, usually one. If
/// it throws an Error, that is printed, and on stdout its `document`, for the
/// first model, unless null; the exit status is then ExitCodeOf's.
ExitCode AnswerForModels(std::span<const std::string> models,
                         const std::function<ExitCode()>& run,
                         ErrorDocument document = nullptr);

/// The same for a command about something other than a model, such as a table,
/// which may have no name; the exit status is that of the error's code.
ExitCode AnswerFor(const std::string& subject,
                   const std::function<ExitCode()>& run,
                   ErrorDocument document);

/// Writes a file in addition to an answer that is already printed, so nothing
/// is lost and no second document follows the first: an Error is printed
/// without one, and its exit status returned.
ExitCode WriteBesideAnswer(const std::string& path, std::string_view content);

}  // namespace foretell::cli
