#include "cli/commands/exit_code.h"

#include <algorithm>
#include <string_view>

namespace foretell::cli {

ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
      return kExitUsage;
    case ErrorCode::kInternal:
      return kExitInternal;
    default:
      return kExitModelFailed;
  }
}

ExitCode ExitCodeOf(const Error& error, std::span<const std::string> models) {
  const std::string_view message = error.what();
  const bool is_of_model =
      std::ranges::any_of(models, [message](const std::string& model) {
        return message.starts_with(model + ":") ||
               message.find(": " + model + ":") != message.npos;
      });
  return is_of_model && error.code() != ErrorCode::kInternal
             ? kExitModelFailed
             : ExitCodeOf(error.code());
}

}  // namespace foretell::cli
