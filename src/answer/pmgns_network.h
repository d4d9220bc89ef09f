#pragma once

#include <string>
#include <string_view>

#include "foretell/device.h"
#include "src/answer/known_runs.h"
#include "src/answer/learned_model.h"

namespace foretell::learned {

/// A network of data/predictors/pmgns, and what its labels are of.
struct PmgnsNetwork {
  /// `path` is the file's, below the source folder. Throws what LearnedModel
  /// and FindContext throw.
  PmgnsNetwork(const Checkpoint& checkpoint, const std::string& path);

  LearnedModel learned;
  KnownRuns runs;
  std::string_view runs_text;  ///< `runs` in words.
  ContextModel context;        ///< That the memory of its labels holds.
  bool is_simulated;           ///< No label was measured.
};

}  // namespace foretell::learned
