#pragma once

#include <CLI/CLI.hpp>

namespace foretell::cli {

/// Refuses flags that have no effect with the rest of the command line: --link
/// without --parallel, --optimizer without --mode training. `app` has been
/// parsed. A flag with its default value counts as not given.
///
/// Throws Error(kInvalidArgument) that lists the flags with their values and
/// states what they go with.
void RequirePartners(const CLI::App& app);

}  // namespace foretell::cli
