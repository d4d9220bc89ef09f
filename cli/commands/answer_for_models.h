#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands/exit_code.h"
#include "src/predict/report.h"

namespace foretell::cli {

/// A command's JSON document where there is but an error.
using ErrorDocument = nlohmann::ordered_json (*)(const ReportError& error);

/// The document of commands that print a list of results: none, and the error.
nlohmann::ordered_json NoResults(const ReportError& error);

/// What `run` returns, the answer for all of `models`, mostly one. Where it
/// throws an Error, that is printed, and on stdout its document, of the first
/// model, unless null; the exit status is ExitCodeOf's.
ExitCode AnswerForModels(std::span<const std::string> models,
                         const std::function<ExitCode()>& run,
                         ErrorDocument document = nullptr);

/// The same for a command about something that is no model, a table say, which
/// may be without a name; the exit status is that of the error's code.
ExitCode AnswerFor(const std::string& subject,
                   const std::function<ExitCode()>& run,
                   ErrorDocument document);

/// Writes a file beside an answer that is printed already, so that nothing is
/// lost and no second document stands behind the first: an Error is printed
/// alone, and its exit status returned.
ExitCode WriteBesideAnswer(const std::string& path, std::string_view content);

}  // namespace foretell::cli
