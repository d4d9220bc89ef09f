#include "cli/commands/answer_for_models.h"

#include <iostream>

#include "cli/flags/model_options.h"
#include "src/core/json_text.h"
#include "src/core/output_file.h"
#include "src/judge/report_json.h"

namespace foretell::cli {
namespace {

void PrintFailure(const std::string& subject, const Error& error,
                  ErrorDocument document) {
  if (document != nullptr) {
    std::cout << DumpJson(document({subject, error.code(), error.what()}))
              << "\n";
  }
  PrintError(error.what());
}

}  // namespace

nlohmann::ordered_json NoResults(const ReportError& error) {
  return AnswersToJson(nlohmann::ordered_json::array(), {&error, 1});
}

ExitCode AnswerForModels(std::span<const std::string> models,
                         const std::function<ExitCode()>& run,
                         ErrorDocument document) {
  try {
    return run();
  } catch (const Error& error) {
    PrintFailure(models.front(), error, document);
    return ExitCodeOf(error, models);
  }
}

ExitCode AnswerFor(const std::string& subject,
                   const std::function<ExitCode()>& run,
                   ErrorDocument document) {
  try {
    return run();
  } catch (const Error& error) {
    PrintFailure(subject, error, document);
    return ExitCodeOf(error.code());
  }
}

ExitCode PrintErrors(std::span<const ReportError> errors) {
  for (const ReportError& error : errors) PrintError(error.message);
  return errors.empty() ? kExitOk : kExitModelFailed;
}

ExitCode WriteBesideAnswer(const std::string& path, std::string_view content) {
  return AnswerFor(
      path,
      [&] {
        WriteWhole(path, content);
        return kExitOk;
      },
      nullptr);
}

}  // namespace foretell::cli
