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

/// Which patterns of ONNX operators to replace by the operator that eager
/// PyTorch runs. TorchScript files keep PyTorch's operators and need no fusion.
enum class Fusion : std::uint8_t {
  kOff,       ///< The file as it is.
  kExported,  ///< Forms that PyTorch's exporters make of one operator.
  /// Also equivalent forms that models themselves write out, which eager
  /// PyTorch would run operator by operator.
  kEquivalent,
};

std::optional<Fusion> ParseFusion(std::string_view name);  ///< "none", …

/// Whether to open and trace a file in a separate process without access to
/// files, sockets and programs, and with limits of memory and time
/// (docs/security.md).
enum class Sandbox : std::uint8_t {
  kOff,      ///< In this process. For files that are trusted.
  kAuto,     ///< With the locks that this kernel has, see MissingLocks.
  kRequire,  ///< With all of them, or not at all.
};

std::optional<Sandbox> ParseSandbox(std::string_view name);  ///< "off", …

/// Handling of models of other frameworks (TensorFlow, Paddle, Hugging Face),
/// which Python programs convert: docs/frameworks.md.
struct ConversionOptions {
  /// Permits running Python.
  bool allowed = false;
  /// Called on first use to ask whether pip may install a converter's packages;
  /// the question states the space needed. Empty: not allowed.
  std::function<bool(const std::string& question)> may_install;
  /// Called with each step and the space it needs before the step is done. May
  /// be empty.
  std::function<void(const std::string&)> tell;
};

/// Options for reading a file.
struct LoadOptions {
  Fusion fusion = Fusion::kExported;
  /// In a sandbox the program can be traced and nothing else, and a file that
  /// crashes LibTorch is an Error; with kOff it ends this process. The
  /// sandbox's process is a fork of this one, without another program: it takes
  /// no file that is installed. It ends with the thread that opened the file,
  /// and is killed at `timeout_s` where it needs a lock that another thread
  /// held as it was forked: open files before threads are started, or choose
  /// kOff.
  Sandbox sandbox = Sandbox::kAuto;
  /// Limit of opening a file in a sandbox, and of each of its traces.
  double timeout_s = 60;
  /// The program will be traced on TraceDevice::kCpu: a sandbox then allows
  /// more memory, and code generated at run time.
  bool runs_arithmetic = false;
  ConversionOptions conversion;
};

/// Sandbox features that this kernel lacks, for messages; empty if it has all.
std::string MissingLocks();

/// Reads an ONNX, TorchScript or torch.export file, detected by its content, or
/// first converts a model of another framework, detected by its extension or
/// the content of its folder. Weights are not read. Throws Error whose message
/// starts with `path`; in a sandbox also kCorrupt if the process that opened it
/// died, and kUnsupported if it exceeded a limit or a required sandbox feature
/// is missing; kUnsupported if the model cannot be converted.
Program LoadModel(const std::string& path, const LoadOptions& options = {});

/// A file that is being opened, and in a sandbox traced, in the background.
class LoadingModel {
 public:
  /// Starts loading; Wait throws its errors. A sandbox then runs the `expected`
  /// traces in order and keeps them ready for TraceProgram; other traces are
  /// also possible.
  explicit LoadingModel(const std::string& path,
                        const LoadOptions& options = {},
                        const std::vector<StepRequest>& expected = {});
  /// As LoadModel. To be called once.
  Program Wait() { return wait_(); }

 private:
  std::function<Program()> wait_;
};

/// Reads a TorchScript archive, traced or scripted, in this process: a file
/// that nests too deep for LibTorch ends it. The file's code is checked against
/// a list of allowed operators before anything of it runs.
Program LoadTorchScript(const std::string& path);

}  // namespace foretell
