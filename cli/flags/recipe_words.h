#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace foretell::cli {

/// Adds --config and --gpus, which WithRecipes reads.
void AddRecipeFlags(CLI::App& command);

/// `words` (the command line without the program's name) with the flags, and
/// the model, that the files of --config state (src/recipes/recipe.h). Flags
/// of the user replace those of the files. Notes on stderr what was understood,
/// as a command line, and which keys are left out. Throws what ReadRecipe does.
std::vector<std::string> WithRecipes(const CLI::App& app,
                                     std::vector<std::string> words);

}  // namespace foretell::cli
