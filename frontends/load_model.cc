#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/frontends.h"
#include "frontends/converted/convert.h"
#include "frontends/converted/converted_source.h"
#include "frontends/converted/converters.h"
#include "frontends/exported/archive.h"
#include "frontends/exported/exported_program.h"
#include "frontends/onnx/onnx_program.h"
#include "frontends/sandboxed_source.h"
#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/torchscript_program.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/name_table.h"
#include "src/core/text.h"
#include "src/sandbox/lock.h"

namespace foretell {
namespace {

constexpr NameTable<3> kFusionNames = {"none", "exported", "equivalent"};
constexpr NameTable<3> kSandboxNames = {"off", "auto", "require"};

void RequireLocks(const std::string& path) {
  const std::string missing = MissingLocks();
  if (missing.empty()) return;
  throw Unsupported("{}: a sandbox is required, and this kernel lacks {}", path,
                    missing);
}

/// Returns a function that builds the Program.
std::function<Program()> StartReading(
    RegularFile opened, const LoadOptions& options,
    const std::vector<StepRequest>& expected) {
  if (options.sandbox != Sandbox::kOff) {
    return StartSandboxed(std::move(opened), options, expected);
  }
  auto file = std::make_shared<RegularFile>(std::move(opened));
  return [file, options] { return LoadHere(std::move(*file), options); };
}

/// Opens the file and returns a function that builds the Program. A conversion
/// waits until that is called, because it reports what it does.
std::function<Program()> StartLoading(
    const std::string& path, const LoadOptions& options,
    const std::vector<StepRequest>& expected) {
  if (options.sandbox == Sandbox::kRequire) RequireLocks(path);
  const auto conversion = converted::FindConversion(path);
  if (!conversion) return StartReading(OpenModelFile(path), options, expected);
  return [path, conversion = *conversion, options, expected] {
    auto [file, note] = converted::Convert(path, conversion, options);
    return converted::WithNote(
        StartReading(std::move(file), options, expected)(), std::move(note));
  };
}

}  // namespace

std::optional<Fusion> ParseFusion(std::string_view name) {
  return FindIn<Fusion>(kFusionNames, name);
}

std::optional<Sandbox> ParseSandbox(std::string_view name) {
  return FindIn<Sandbox>(kSandboxNames, name);
}

std::string MissingLocks() {
  const sandbox::LockSupport support = sandbox::FindLockSupport();
  std::vector<std::string> missing;
  if (!support.seccomp) missing.emplace_back("seccomp");
  if (!support.landlock) missing.emplace_back("Landlock");
  return Joined(missing);
}

RegularFile OpenModelFile(const std::string& path) {
  const std::string file = exported::FileOf(path);
  std::error_code ignored;
  if (file == path || std::filesystem::exists(path, ignored)) {
    return OpenRegularFile(path, kAnySize);
  }
  RegularFile opened = OpenRegularFile(file, kAnySize);
  opened.path = path;
  return opened;
}

Program LoadHere(RegularFile file, const LoadOptions& options) {
  if (torchscript::LooksLikeZip(FirstBytes(file, 4))) {
    if (exported::LooksExported(file)) {
      return exported::ReadProgram(std::move(file));
    }
    return torchscript::ReadProgram(std::move(file));
  }
  return onnx::ReadProgram(std::move(file), options);
}

LoadingModel::LoadingModel(const std::string& path, const LoadOptions& options,
                           const std::vector<StepRequest>& expected) {
  try {
    wait_ = StartLoading(path, options, expected);
  } catch (const Error&) {
    wait_ = [failure = std::current_exception()]() -> Program {
      std::rethrow_exception(failure);
    };
  }
}

Program LoadModel(const std::string& path, const LoadOptions& options) {
  return StartLoading(path, options, {})();
}

}  // namespace foretell
