// The child process of one measurement: takes a request, leaves one row on a
// file descriptor of its own. Not for users.

#include <sys/prctl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands/command.h"
#include "cli/flags/open_model.h"
#include "foretell/measure.h"
#include "foretell/zoo.h"
#include "frontends/sandboxed_source.h"
#include "src/core/files.h"
#include "src/sandbox/lock.h"

namespace foretell::cli {
namespace {

/// Opens the model. On the CPU the process is locked before it looks at the
/// first byte of a file.
Program Open(const MeasureRequest& request) {
  if (request.device != "cpu" || request.model.starts_with(zoo::kPrefix)) {
    return OpenModel(request.model, request.load);
  }
  RegularFile file = OpenModelFile(request.model);
  sandbox::LockProcess(
      {.keep = {STDERR_FILENO, kMeasureResultFd, file.descriptor.number()},
       .makes_code = true,
       .measures = true});
  return LoadHere(std::move(file), request.load);
}

Measurement Measure(const MeasureRequest& request) {
  try {
    const Program program = Open(request);
    return MeasureHere(program, request);
  } catch (const std::exception& error) {
    return FailedMeasurement(request, MeasureStatus::kFailed, error.what());
  }
}

bool Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(kMeasureResultFd, text.data(), text.size());
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Leaves without tearing LibTorch down: after a broken CUDA context that can
/// hang or crash, and the row is safe already.
[[noreturn]] void RunMeasureOne(const std::string& json) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Measurement row = Measure(RequestFromJson(json));
  std::_Exit(Write(MeasurementToJson(row)) ? kExitOk : kExitInternal);
}

}  // namespace

void AddMeasureOne(CLI::App& app, ExitCode&) {
  auto request = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("measure-one", "One measurement, for `measure`");
  command->group("");  // Not in the help.
  command->add_option("REQUEST", *request, "JSON")->required();
  command->callback([request] { RunMeasureOne(*request); });
}

}  // namespace foretell::cli
