#pragma once

#include "foretell/program.h"
#include "frontends/onnx/model.h"

namespace foretell::onnx {

/// The program that `model` describes; throws Error(kUnsupported) that lists
/// every operator without a lowering.
Program MakeProgram(Model model);

}  // namespace foretell::onnx
