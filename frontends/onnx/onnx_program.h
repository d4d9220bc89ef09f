#pragma once

#include "foretell/frontends.h"
#include "foretell/program.h"
#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// The program that `model` describes, with patterns of operators recognised as
/// `options` say; throws Error(kUnsupported) that lists
/// every operator without a lowering.
Program MakeProgram(Model model, const LoadOptions& options = {});

/// As LoadOnnx, of a file that is open.
Program ReadProgram(RegularFile file, const LoadOptions& options);

}  // namespace foretell::onnx
