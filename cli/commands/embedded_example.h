#pragma once

#include "src/core/embedded_file.h"

namespace foretell::cli {

/// examples/resnet18.onnx alone, which `foretell doctor` predicts.
std::span<const EmbeddedFile> EmbeddedExample();

}  // namespace foretell::cli
