#pragma once

#include "src/core/embedded_file.h"

namespace foretell::learned {

/// The checkpoints that the library carries for Method::kAuto and kLearned:
/// data/predictors without its folder pmgns.
std::span<const EmbeddedFile> EmbeddedCheckpoints();
/// Those for Method::kPmgns: data/predictors/pmgns.
std::span<const EmbeddedFile> EmbeddedPmgns();

}  // namespace foretell::learned
