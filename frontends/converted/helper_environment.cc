#include "frontends/converted/helper_environment.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <zlib.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "foretell/error.h"
#include "src/core/descriptor.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/output_file.h"
#include "src/core/units.h"
#include "src/core/work_folder.h"
#include "src/sandbox/run_program.h"

namespace foretell::converted {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "foretell/converters";
/// Written last: an environment without it is incomplete.
constexpr char kComplete[] = "foretell-complete.txt";
constexpr double kMostSeconds = 7200;
/// Lines of paths, those of programs after a mark.
constexpr char kPythonFiles[] = "foretell-python.txt";
constexpr char kProgramMark = '!';
/// Prints them. Modules are in the folders of the standard library; libraries
/// that come with the interpreter are next to those, among files that may
/// belong to any user if its prefix is / or a home folder, so they are listed
/// one by one.
constexpr char kAskForFiles[] = R"(
import glob, os, re, sys, sysconfig
program = os.path.realpath(sys.executable)
with open(program, "rb") as file:
    loader = re.search(rb"/[!-~]*/ld[-\w]*\.so[.\d]*", file.read(65536))
programs = [program] + ([loader.group().decode()] if loader else [])
modules = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
places = {os.path.join(prefix, lib)
          for prefix in (sys.base_prefix, sys.base_exec_prefix)
          for lib in ("lib", "lib64", sys.platlibdir)}
libraries = {file for place in places
             for file in glob.glob(os.path.join(glob.escape(place), "*.so*"))
             if os.path.isfile(file)}
print(*("!" + path for path in programs), *sorted(modules | libraries), sep="\n")
)";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path CacheFolder() {
  const fs::path cache = Variable("XDG_CACHE_HOME");
  if (cache.is_absolute()) return cache / kFolder;
  const fs::path home = Variable("HOME");
  if (home.is_absolute()) return home / ".cache" / kFolder;
  throw NotFound(
      "no folder for helper environments: neither XDG_CACHE_HOME nor HOME is "
      "set");
}

std::string Python() {
  const std::string chosen = Variable("FORETELL_PYTHON");
  return chosen.empty() ? "python3" : chosen;
}

/// Allows one maker at a time; released with the object, or with the process.
class Lock {
 public:
  Lock(const std::string& path, const std::function<void()>& waiting)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (!file_.is_open()) Fail(path);
    if (flock(file_.number(), LOCK_EX | LOCK_NB) == 0) return;
    waiting();
    while (flock(file_.number(), LOCK_EX) != 0) {
      if (errno != EINTR) Fail(path);
    }
  }

 private:
  [[noreturn]] static void Fail(const std::string& path) {
    throw IoFailure("{}: {}", path, SystemMessage(errno));
  }
  Descriptor file_;
};

class Maker {
 public:
  Maker(const Converter& converter, const ConversionOptions& options)
      : converter_(converter),
        options_(options),
        requirements_(ConverterFile(converter, ".txt")),
        folder_(CacheFolder() / fmt::format("{}-{:08x}", converter.name,
                                            Hash(requirements_ + Python()))) {}

  HelperEnvironment Provide() const {
    if (!IsComplete()) {
      RequireConsent();
      fs::create_directories(folder_.parent_path());
      const Lock lock(Beside(".lock"), [this] {
        Tell(folder_.string() + ": another process is creating it; waiting");
      });
      if (!IsComplete()) Make();
    }
    return {folder_, Interpreter(), FilesOfPython()};
  }

 private:
  static std::uint32_t Hash(const std::string& text) {
    return static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  }
  bool IsComplete() const { return fs::exists(folder_ / kComplete); }
  std::string Interpreter() const { return folder_ / "bin" / "python"; }
  std::string Beside(const char* ending) const {
    return folder_.string() + ending;
  }

  /// As the interpreter itself reports them, which it is asked only once.
  PythonFiles FilesOfPython() const {
    const std::string list = folder_ / kPythonFiles;
    if (!fs::exists(list)) AskPython(list);
    PythonFiles files;
    std::istringstream lines(ReadText(list));
    for (std::string line; std::getline(lines, line);) {
      const bool is_program = line.starts_with(kProgramMark);
      (is_program ? files.programs : files.libraries)
          .push_back(is_program ? line.substr(1) : line);
    }
    return files;
  }

  void AskPython(const std::string& list) const {
    const WorkFolder work;
    const std::string answer = work / "answer.txt";
    Do({Interpreter(), "-I", "-c", kAskForFiles}, "its Python does not run",
       answer);
    WriteWhole(list, ReadText(answer));
  }

  void Tell(const std::string& sentence) const {
    if (options_.tell) options_.tell(sentence);
  }

  void RequireConsent() const {
    const std::string what =
        fmt::format("{}, about {} MiB in {}", PackagesOf(converter_),
                    converter_.mib, folder_.parent_path().string());
    if (options_.may_install &&
        options_.may_install(fmt::format("install {}, to convert it?", what))) {
      return;
    }
    throw Unsupported(
        "has to be converted by {}, which is not installed; --convert installs "
        "it",
        what);
  }

  void Make() const {
    CheckSpace();
    Tell(fmt::format("creating {} with {} by pip, once: about {} MiB on disk",
                     folder_.string(), PackagesOf(converter_), converter_.mib));
    fs::remove_all(folder_);
    fs::remove(Beside(".log"));
    WriteWhole(Beside(".txt"), requirements_);
    try {
      Do({Python(), "-m", "venv", folder_},
         "set FORETELL_PYTHON to use another");
      Do({Interpreter(), "-m", "pip", "install", "--disable-pip-version-check",
          "--no-input", "--retries", "1", "-r", Beside(".txt")},
         "pip needs a network, or packages that PIP_FIND_LINKS or "
         "PIP_INDEX_URL names");
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
      throw;
    }
    WriteWhole(folder_ / kComplete, requirements_);
  }

  void CheckSpace() const {
    const auto free = static_cast<std::int64_t>(
        fs::space(folder_.parent_path()).available / kMiB);
    if (free >= converter_.mib) return;
    throw IoFailure("{}: has {} MiB free, but the converter needs {}",
                    folder_.parent_path().string(), free, converter_.mib);
  }

  void Do(std::vector<std::string> argv, const std::string& advice) const {
    Do(std::move(argv), advice, Beside(".log"));
  }

  void Do(std::vector<std::string> argv, const std::string& advice,
          const std::string& log) const {
    const ProcessEnd end = sandbox::Run({.argv = std::move(argv),
                                         .folder = folder_.parent_path(),
                                         .log = log,
                                         .deadline_s = kMostSeconds});
    if (end.kind == ProcessEnd::Kind::kExited && end.status == 0) return;
    throw Unsupported(
        "cannot create the environment with {}: {}; {}; full log: {}",
        PackagesOf(converter_),
        end.kind == ProcessEnd::Kind::kExited ? sandbox::LastWords(log)
                                              : ToString(end),
        advice, log);
  }

  const Converter& converter_;
  const ConversionOptions& options_;
  std::string requirements_;
  fs::path folder_;
};

}  // namespace

HelperEnvironment ProvideEnvironment(const Converter& converter,
                                     const ConversionOptions& options) {
  try {
    return Maker(converter, options).Provide();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::kIo, error.what());
  }
}

}  // namespace foretell::converted
