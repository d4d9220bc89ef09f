#pragma once

#include "foretell/program.h"
#include "src/core/files.h"

namespace foretell::torchscript {

/// Does what LibTorch does once per process when it compiles code for the first
/// time: a process that is forked afterwards need not. Idempotent.
void Prepare();

/// As LoadTorchScript, of a file that is open.
Program ReadProgram(RegularFile file);

}  // namespace foretell::torchscript
