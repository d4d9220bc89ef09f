#pragma once

#include <optional>

#include "src/recipes/recipe.h"
#include "src/recipes/settings.h"

namespace foretell::recipes {

/// The command line for `settings` on `gpus` GPUs (empty: as they state, else
/// one), without Recipe::tools. Throws Error(kInvalidArgument) that names the
/// keys if the batch of all GPUs is not that of the GPUs together.
Recipe RecipeOf(const Settings& settings, std::optional<int> gpus);

}  // namespace foretell::recipes
