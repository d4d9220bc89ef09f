#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/program.h"
#include "foretell/trace.h"

namespace foretell {

/// Which patterns of ONNX operators become the one operator that eager PyTorch
/// runs. TorchScript files keep PyTorch's operators and need no fusion.
enum class Fusion : std::uint8_t {
  kOff,       ///< The file as it is.
  kExported,  ///< Forms that PyTorch's exporters make of one operator.
  /// Also forms that compute the same but which models write out themselves,
  /// so that eager PyTorch would run them operator by operator.
  kEquivalent,
};

std::string_view FusionName(Fusion fusion);  ///< "none", "exported", …
std::optional<Fusion> ParseFusion(std::string_view name);

/// Whether a file is opened and traced in a process of its own that can do
/// nothing else: no file, no socket, no program, within limits of memory and
/// time (docs/security.md).
enum class Sandbox : std::uint8_t {
  kOff,      ///< In this process. For files that are trusted.
  kAuto,     ///< With the locks that this kernel has, see MissingLocks.
  kRequire,  ///< With all of them, or not at all.
};

std::optional<Sandbox> ParseSandbox(std::string_view name);  ///< "off", …

/// What is done with models of other frameworks (TensorFlow, Paddle, Hugging
/// Face), which Python programs convert to a file that can be read:
/// docs/frameworks.md.
struct ConversionOptions {
  /// Permits running Python.
  bool allowed = false;
  /// Asked, the first time, whether pip may install what a converter needs, in
  /// a sentence that states how much that takes. Empty: it may not.
  std::function<bool(const std::string& question)> may_install;
  /// Told what is done and how much it takes, before it is done. May be empty.
  std::function<void(const std::string&)> tell;
};

/// How a file is read.
struct LoadOptions {
  Fusion fusion = Fusion::kExported;
  /// In a sandbox the program can be traced and nothing else. Its process is a
  /// fork of this one, which must then have no other threads that hold locks.
  Sandbox sandbox = Sandbox::kOff;
  /// Limit of opening a file in a sandbox, and of each of its traces.
  double timeout_s = 60;
  /// The program will be traced on TraceDevice::kCpu: a sandbox then allows
  /// more memory, and code that is made while running.
  bool runs_arithmetic = false;
  ConversionOptions conversion;
};

/// Locks of a sandbox that this kernel lacks, in words; empty when it has all.
std::string MissingLocks();

/// Reads an ONNX, TorchScript or torch.export file, detected by its content,
/// or converts a model of another framework first, known by its ending or by
/// what is in its folder. Weights are not read. Throws Error whose message
/// starts with `path`; in a sandbox kCorrupt, too, where the process that
/// opened it died, and kUnsupported where it took too long, where a lock that
/// is required is missing, or where it cannot be converted.
Program LoadModel(const std::string& path, const LoadOptions& options = {});

/// A trace that a program will be asked for: TraceProgram on what BindInputs
/// makes of `inputs`.
struct ExpectedTrace {
  InputRequest inputs;
  TraceOptions options;
};

/// A file that is being opened, and in a sandbox traced, while this process
/// does something else.
class LoadingModel {
 public:
  /// Starts loading; Wait throws what goes wrong. A sandbox then runs the
  /// `expected` traces, in their order, and has them ready when TraceProgram
  /// asks for them; others may be asked for, too.
  explicit LoadingModel(const std::string& path,
                        const LoadOptions& options = {},
                        const std::vector<ExpectedTrace>& expected = {});
  /// As LoadModel. To be called once.
  Program Wait() { return wait_(); }

 private:
  std::function<Program()> wait_;
};

/// Reads an ONNX file (opsets 7 to 28 of ai.onnx).
Program LoadOnnx(const std::string& path, const LoadOptions& options = {});

/// Reads a TorchScript archive, traced or scripted. The file's code is checked
/// against a list of allowed operators before anything of it runs.
Program LoadTorchScript(const std::string& path);

}  // namespace foretell
