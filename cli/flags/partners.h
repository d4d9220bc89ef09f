#pragma once

#include <CLI/CLI.hpp>

namespace foretell::cli {

/// Refuses flags that say nothing beside the others of the command line: --link
/// without --parallel, --optimizer without --mode training. `app` has been
/// parsed. A flag with its default value was not given.
///
/// Throws Error(kInvalidArgument) that lists the flags with their values and
/// says what they go with.
void RequirePartners(const CLI::App& app);

}  // namespace foretell::cli
