#pragma once

#include <span>
#include <string>

#include "foretell/error.h"

namespace foretell::cli {

/// Exit status of the `foretell` command; docs/command_line.md repeats it.
enum ExitCode : int {
  kExitOk = 0,
  /// `fits`, `max-batch`, `plan`, `mig pack`, `adapt`, `calibrate-device`: the
  /// answer is no.
  kExitDoesNotFit = 1,
  kExitUsage = 2,        ///< The command line makes no sense.
  kExitModelFailed = 3,  ///< At least one model had an error; others go on.
  kExitInternal = 4,     ///< A bug in foretell.
  kExitInterrupted = 5,  ///< Training ended by a signal; it can go on.
};

/// The status of a command that ended with such an error.
ExitCode ExitCodeOf(ErrorCode code);

/// The same for a command that an error about one of `models` ended: the
/// message then names the model first, or after the place where it ran.
ExitCode ExitCodeOf(const Error& error, std::span<const std::string> models);

}  // namespace foretell::cli
