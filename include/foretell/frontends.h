#pragma once

#include <cstdint>
#include <string>

#include "foretell/program.h"

namespace foretell {

/// Which patterns of ONNX operators become the one operator that eager PyTorch
/// runs. TorchScript files keep PyTorch's operators and need none of it.
enum class Fusion : std::uint8_t {
  kOff,       ///< The file as it is.
  kExported,  ///< Forms that PyTorch's exporters make of one operator.
  /// Also forms that compute the same but which models write out themselves,
  /// so that eager PyTorch would run them operator by operator.
  kEquivalent,
};

/// How a file is read.
struct LoadOptions {
  Fusion fusion = Fusion::kExported;
};

/// Reads an ONNX or TorchScript file, told apart by its first bytes. Weights
/// are not read. Throws Error whose message starts with `path`.
Program LoadModel(const std::string& path, const LoadOptions& options = {});

/// Reads an ONNX file (opsets 7 to 28 of ai.onnx).
Program LoadOnnx(const std::string& path, const LoadOptions& options = {});

/// Reads a TorchScript archive, traced or scripted. The file's code is checked
/// against a list of allowed operators before anything of it runs.
Program LoadTorchScript(const std::string& path);

}  // namespace foretell
