#pragma once

#include "foretell/frontends.h"
#include "foretell/program.h"
#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// The program that `model` describes, with patterns of operators recognised
/// according to `options`; throws Error(kUnsupported) that lists
/// every operator without a lowering.
Program MakeProgram(Model model, const LoadOptions& options = {});

/// Reads an ONNX file (opsets 7 to 28 of ai.onnx) in this process.
Program ReadProgram(RegularFile file, const LoadOptions& options);

}  // namespace foretell::onnx
