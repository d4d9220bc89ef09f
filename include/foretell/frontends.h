#pragma once

#include <string>

#include "foretell/program.h"

namespace foretell {

/// Reads an ONNX or TorchScript file, told apart by its first bytes. Weights are
/// not read. Throws Error whose message starts with `path`.
Program LoadModel(const std::string& path);

/// Reads an ONNX file (opsets 7 to 28 of ai.onnx).
Program LoadOnnx(const std::string& path);

/// Reads a TorchScript archive, traced or scripted. The file's code is checked
/// against a list of allowed operators before anything of it runs.
Program LoadTorchScript(const std::string& path);

}  // namespace foretell
