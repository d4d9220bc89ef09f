#include "frontends/converted/convert.h"

#include <fmt/core.h>

#include <thread>
#include <vector>

#include "foretell/error.h"
#include "frontends/converted/helper_environment.h"
#include "src/core/failure.h"
#include "src/core/output_file.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/core/work_folder.h"
#include "src/sandbox/run_program.h"

namespace foretell::converted {
namespace {

using sandbox::Command;
using sandbox::LastWords;
using sandbox::PathRule;

constexpr char kProgram[] = "convert.py";
/// A sentence by the converter, if it writes one.
constexpr char kNote[] = "note.txt";
constexpr std::size_t kMostNoteBytes = 300;
constexpr std::int64_t kAddressSpace = 64 * kGiB;
constexpr std::int64_t kFileBytes = 16 * kGiB;
/// A framework takes seconds to start, and a large network minutes.
constexpr double kTimesTheTimeout = 10;

/// Threads of a framework: several for each processor, and its own.
constexpr int kThreads = 256;
constexpr int kThreadsPerProcessor = 16;

/// What any Python program reads: libraries, and files about the machine and
/// the process itself. Includes no program, and no other process.
const PathRule kSystem[] = {
    {"/usr/lib", sandbox::kReadFolders},
    {"/usr/lib64", sandbox::kReadFolders},
    {"/usr/local/lib", sandbox::kReadFolders},
    {"/usr/share", sandbox::kReadFolders},
    {"/lib", sandbox::kReadFolders},
    {"/lib64", sandbox::kReadFolders},
    {"/nix/store", sandbox::kReadFolders},
    {"/etc/ld.so.cache", sandbox::kReadFile},
    {"/etc/localtime", sandbox::kReadFile},
    {"/etc/mime.types", sandbox::kReadFile},
    {"/etc/nsswitch.conf", sandbox::kReadFile},
    {"/etc/passwd", sandbox::kReadFile},
    {"/etc/group", sandbox::kReadFile},
    {"/etc/os-release", sandbox::kReadFile},
    {"/proc/self", sandbox::kReadFolders},
    {"/proc/cpuinfo", sandbox::kReadFile},
    {"/proc/meminfo", sandbox::kReadFile},
    {"/proc/stat", sandbox::kReadFile},
    {"/proc/version", sandbox::kReadFile},
    {"/proc/sys/vm/overcommit_memory", sandbox::kReadFile},
    {"/sys/devices/system", sandbox::kReadFolders},
    {"/dev/urandom", sandbox::kReadFile},
    {"/dev/null", sandbox::kChangeFiles},
};

sandbox::ProgramLocks LocksFor(const Conversion& conversion,
                               const HelperEnvironment& environment,
                               const WorkFolder& work) {
  sandbox::ProgramLocks locks;
  locks.paths.assign(std::begin(kSystem), std::end(kSystem));
  locks.paths.push_back({environment.folder, sandbox::kReadFolders});
  for (const std::string& path : environment.python.programs) {
    locks.paths.push_back({path, sandbox::kRunProgram, true});
  }
  for (const std::string& path : environment.python.libraries) {
    locks.paths.push_back({path, sandbox::kReadFolders});
  }
  locks.paths.push_back({work.path(), sandbox::kChangeFiles});
  locks.paths.insert(locks.paths.end(), conversion.reads.begin(),
                     conversion.reads.end());
  return locks;
}

/// Nothing of the user's environment, except the language of messages.
std::vector<std::string> EnvironmentIn(const WorkFolder& work) {
  std::vector<std::string> variables = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8",
                                        "CUDA_VISIBLE_DEVICES="};
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME"}) {
    variables.push_back(fmt::format("{}={}", name, work.path()));
  }
  return variables;
}

ProcessLimits ConverterLimits() {
  ProcessLimits limits;
  limits.memory_bytes = kAddressSpace;
  limits.file_bytes = kFileBytes;
  limits.core_bytes = 0;
  return limits;
}

int MostThreads() {
  return kThreads + kThreadsPerProcessor *
                        static_cast<int>(std::thread::hardware_concurrency());
}

[[noreturn]] void FailToConvert(const ProcessEnd& end, const std::string& log,
                                const HelperEnvironment& environment) {
  const bool spoke = end.kind == ProcessEnd::Kind::kExited;
  std::string words = spoke ? LastWords(log) : "";
  if (words.empty()) words = "the converter was " + ToString(end);
  throw Unsupported("cannot be converted in {}: {}", environment.folder, words);
}

void RunConverter(const Conversion& conversion,
                  const HelperEnvironment& environment, const WorkFolder& work,
                  const LoadOptions& options) {
  const Converter& converter = *conversion.converter;
  WriteWhole(work / kProgram, ConverterFile(converter, ".py"));
  if (!converter.module.empty()) {
    WriteWhole(work / converter.module, ConverterModule(converter));
  }
  Command command{
      .argv = {environment.interpreter, "-I", work / kProgram, conversion.model,
               work / converter.result, work / kNote},
      .environment = EnvironmentIn(work),
      .folder = work.path(),
      .log = work / "log.txt",
      .limits = ConverterLimits(),
      .deadline_s = kTimesTheTimeout * options.timeout_s,
      .most_threads = MostThreads()};
  if (options.sandbox != Sandbox::kOff) {
    command.locks = LocksFor(conversion, environment, work);
  }
  const ProcessEnd end = sandbox::Run(command);
  if (end.kind != ProcessEnd::Kind::kExited || end.status != 0) {
    FailToConvert(end, command.log, environment);
  }
}

std::string NoteOf(const Converter& converter,
                   const HelperEnvironment& environment,
                   const WorkFolder& work) {
  const std::string own =
      Printable(FirstLine(FirstBytes(work / kNote, kMostNoteBytes)));
  std::string note = fmt::format("converted by {} in {}", PackagesOf(converter),
                                 environment.folder);
  for (const std::string& more : {own, std::string(converter.meaning)}) {
    if (!more.empty()) note.append("; ").append(more);
  }
  return note;
}

/// `options` whose messages begin with `path`.
ConversionOptions Naming(const std::string& path,
                         const ConversionOptions& options) {
  ConversionOptions named{.allowed = options.allowed};
  named.tell = [path, tell = options.tell](const std::string& sentence) {
    if (tell) tell(fmt::format("{}: {}", path, sentence));
  };
  named.may_install = [path,
                       ask = options.may_install](const std::string& question) {
    return ask && ask(fmt::format("{}: {}", path, question));
  };
  return named;
}

Converted ConvertNamed(const std::string& path, const Conversion& conversion,
                       const LoadOptions& options) {
  const ConversionOptions named = Naming(path, options.conversion);
  const Converter& converter = *conversion.converter;
  const HelperEnvironment environment = ProvideEnvironment(converter, named);
  const WorkFolder work;
  named.tell(fmt::format("converting it with {} in {}", PackagesOf(converter),
                         environment.folder));
  RunConverter(conversion, environment, work, options);
  Converted made{OpenRegularFile(work / converter.result, kAnySize),
                 NoteOf(converter, environment, work)};
  made.file.path = path;
  return made;
}

}  // namespace

Converted Convert(const std::string& path, const Conversion& conversion,
                  const LoadOptions& options) {
  CheckFormat(path, conversion);
  if (!options.conversion.allowed) {
    throw Unsupported("{}: needs conversion by {}, which is not allowed here",
                      path, PackagesOf(*conversion.converter));
  }
  try {
    return ConvertNamed(path, conversion, options);
  } catch (const Error& error) {
    throw WithContext(path, error);
  }
}

}  // namespace foretell::converted
