#pragma once

#include "foretell/program.h"
#include "src/core/files.h"

namespace foretell::torchscript {

/// As LoadTorchScript, of a file that is open.
Program ReadProgram(RegularFile file);

}  // namespace foretell::torchscript
