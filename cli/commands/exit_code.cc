#include "cli/commands/exit_code.h"

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

ExitCode ExitCodeOf(const Error& error, const std::string& model) {
  const std::string_view message = error.what();
  const bool is_of_model = message.starts_with(model + ":");
  return is_of_model && error.code() != ErrorCode::kInternal
             ? kExitModelFailed
             : ExitCodeOf(error.code());
}

}  // namespace foretell::cli
