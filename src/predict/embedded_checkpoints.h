#pragma once

#include "src/core/embedded_file.h"

namespace foretell::learned {

/// The checkpoints that the library carries: data/predictors.
std::span<const EmbeddedFile> EmbeddedCheckpoints();

}  // namespace foretell::learned
