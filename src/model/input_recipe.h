#pragma once

#include <string>
#include <vector>

#include "foretell/run.h"
#include "src/model/checkpoint.h"

namespace foretell::model {

/// What a checkpoint says of how its inputs are made, beside their columns.
struct InputRecipe {
  bool chain = false;  ///< Every node is joined to the next one alone.
  /// Name of the context model of the prior and of terms of memory; empty:
  /// today's.
  std::string context;
  Host host = Host::kPython;  ///< Of the prior and of costs of nodes.
  /// Fields of the labels' settings that the network sees.
  std::vector<std::string> setting_keys;
};

/// What the checkpoint does not state is as in `otherwise`. Throws
/// Error(kCorrupt) for a host that is none.
InputRecipe RecipeOf(const CheckpointInfo& info,
                     const InputRecipe& otherwise = {});
/// Notes the recipe in a checkpoint, for RecipeOf.
void NoteRecipe(const InputRecipe& recipe, CheckpointInfo& info);

}  // namespace foretell::model
