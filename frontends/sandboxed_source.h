#pragma once

#include <functional>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/program.h"
#include "src/core/files.h"

namespace foretell {

/// Starts a worker that is locked (src/sandbox/worker.h), opens, checks and
/// traces the file, and answers with graphs, beginning with the `expected`
/// ones. A crash, a hang or excessive memory there is an Error here. The
/// returned function waits until the file is open; the worker ends with the
/// program. Throws Error(kIo).
std::function<Program()> StartSandboxed(
    RegularFile file, const LoadOptions& options,
    const std::vector<StepRequest>& expected);

/// Opens the file of a model: `path`, or FILE of "FILE.pt2:MODEL", whose path
/// keeps the name of the model. Throws what OpenRegularFile does.
RegularFile OpenModelFile(const std::string& path);

/// The program in `file`, in this process.
Program LoadHere(RegularFile file, const LoadOptions& options);

}  // namespace foretell
