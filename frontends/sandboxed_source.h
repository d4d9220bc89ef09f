#pragma once

#include <functional>

#include "foretell/frontends.h"
#include "foretell/program.h"
#include "src/core/files.h"

namespace foretell {

/// Starts a child process that is locked (src/sandbox/lock.h), opens, checks
/// and traces the file, and answers with graphs. A crash, a hang or a blow-up
/// there is an Error here. What is returned waits until the file is open; the
/// child ends with the program. Throws Error(kIo).
std::function<Program()> StartSandboxed(RegularFile file,
                                        const LoadOptions& options);

/// Opens the file of a model: `path`, or FILE of "FILE.pt2:MODEL", whose path
/// keeps the name of the model. Throws what OpenRegularFile does.
RegularFile OpenModelFile(const std::string& path);

/// The program in `file`, in this process.
Program LoadHere(RegularFile file, const LoadOptions& options);

}  // namespace foretell
