#pragma once

#include "src/core/embedded_file.h"

namespace foretell::zoo {

/// datasets/sweeps/*.json in the order of datasets/zoo/CMakeLists.txt.
std::span<const EmbeddedFile> SweepFiles();

}  // namespace foretell::zoo
