#pragma once

#include "foretell/program.h"
#include "src/core/files.h"

namespace foretell::torchscript {

/// Does what LibTorch does once per process when it compiles code for the first
/// time, so that processes forked afterwards need not do it. Idempotent.
void Prepare();

/// As LoadTorchScript, for an open file.
Program ReadProgram(RegularFile file);

}  // namespace foretell::torchscript
