#pragma once

#include "src/core/embedded_file.h"

namespace foretell::classify {

/// The files of data/predictors/classes, in the order of the kinds: fully
/// connected networks by the MLP and the Transformer, then all others.
std::span<const EmbeddedFile> EmbeddedClasses();

}  // namespace foretell::classify
