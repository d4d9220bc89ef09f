#pragma once

#include "foretell/program.h"
#include "src/core/files.h"

namespace foretell::exported {

/// Reads an open archive of torch.export (.pt2): schema 8.x. Sizes are
/// those of the inputs that it was exported with, unless the request has others
/// that the file allows. Throws Error that begins with its path.
Program ReadProgram(RegularFile file);

}  // namespace foretell::exported
