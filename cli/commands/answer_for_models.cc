#include "cli/commands/answer_for_models.h"

#include <iostream>

#include "cli/flags/model_options.h"
#include "src/core/json_text.h"

namespace foretell::cli {

ExitCode AnswerForModels(std::span<const std::string> models,
                         const std::function<ExitCode()>& run,
                         ErrorDocument document) {
  try {
    return run();
  } catch (const Error& error) {
    if (document != nullptr) {
      std::cout << DumpJson(
                       document({models.front(), error.code(), error.what()}))
                << "\n";
    }
    PrintError(error.what());
    return ExitCodeOf(error, models);
  }
}

}  // namespace foretell::cli
