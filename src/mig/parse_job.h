#pragma once

#include <string>

#include "foretell/mig.h"

namespace foretell::mig {

/// The job that "ranker=3500" describes: a name, which may itself contain "=",
/// and memory above 0, in MiB without a unit ("ranker=9GB"). Throws
/// Error(kInvalidArgument) for other texts.
Job ParseJob(const std::string& text);

}  // namespace foretell::mig
