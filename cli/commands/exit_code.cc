#include "cli/commands/exit_code.h"

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

}  // namespace foretell::cli
