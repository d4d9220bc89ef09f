#pragma once

#include <string>

#include "foretell/mig.h"

namespace foretell::mig {

/// The job that "ranker=3500" describes: a name, which may hold signs of its
/// own, and MiB > 0. Throws Error(kInvalidArgument) for other texts.
Job ParseJob(const std::string& text);

}  // namespace foretell::mig
