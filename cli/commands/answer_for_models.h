#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands/exit_code.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// A command's JSON document when there is only an error.
using ErrorDocument = nlohmann::ordered_json (*)(const ReportError& error);

/// For commands that print a list of results: an empty list, and the error.
nlohmann::ordered_json NoResults(const ReportError& error);

/// Returns what `run` returns, the answer for all of `models`, usually one. If
/// it throws an Error, prints the error and, unless null, its `document` for
/// the first model on stdout, and returns ExitCodeOf.
ExitCode AnswerForModels(std::span<const std::string> models,
                         const std::function<ExitCode()>& run,
                         ErrorDocument document = nullptr);

/// Has `command`, which parses into `options`, answer by `run` for its models.
template <typename Options>
void AnswerBy(ExitCode (*run)(const Options&),
              const std::shared_ptr<Options>& options, CLI::App& command,
              ExitCode& exit_code, ErrorDocument document = &NoResults) {
  command.callback([=, &exit_code] {
    exit_code = AnswerForModels(
        options->model.models, [&] { return run(*options); },
        options->json ? document : nullptr);
  });
}

/// The same for a command about something other than a model, such as a table,
/// which may have no name; the exit status is that of the error's code.
ExitCode AnswerFor(const std::string& subject,
                   const std::function<ExitCode()>& run,
                   ErrorDocument document);

/// Prints the errors of models, and returns the exit status that says whether
/// there are any.
ExitCode PrintErrors(std::span<const ReportError> errors);

/// Writes a file after the answer was printed. Prints an Error without a
/// document, because one was printed already, and returns its exit status.
ExitCode WriteBesideAnswer(const std::string& path, std::string_view content);

}  // namespace foretell::cli
