#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "foretell/error.h"
#include "foretell/measure.h"
#include "frontends/torchscript/archive.h"
#include "src/core/files.h"
#include "src/core/numbers.h"
#include "src/measure/device_name.h"
#include "src/measure/isolated.h"

namespace foretell {
namespace {

using measure::IsolatedOutcome;

constexpr char kThisProgram[] = "/proc/self/exe";
constexpr char kWorkerCommand[] = "measure-one";

SpawnOptions CommandFor(const MeasureRequest& request,
                        const std::vector<std::string>& worker) {
  SpawnOptions command{.deadline_s = request.options.deadline_s};
  command.argv = worker.empty()
                     ? std::vector<std::string>{kThisProgram, kWorkerCommand}
                     : worker;
  command.argv.push_back(RequestToJson(request));
  const measure::DeviceName device = measure::ParseDeviceName(request.device);
  if (device.kind == measure::DeviceKind::kMig) {
    command.environment.push_back({"CUDA_VISIBLE_DEVICES", device.mig_uuid});
  } else if (device.kind == measure::DeviceKind::kCpu) {
    command.environment.push_back({"CUDA_VISIBLE_DEVICES", ""});
  }
  return command;
}

/// A GPU's driver needs calls that a lock would forbid.
void RefuseUntrustedCode(const MeasureRequest& request) {
  const bool is_locked = measure::ParseDeviceName(request.device).kind ==
                         measure::DeviceKind::kCpu;
  if (is_locked || request.options.trusts_code) return;
  if (!torchscript::LooksLikeZip(FirstBytes(request.model, 4))) return;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("a TorchScript file is a program, and on {} it runs "
                          "with all rights of yours: --trust allows it",
                          request.device));
}

/// Last line of `log` that has text, cleaned of control characters.
std::string LastLine(std::string log) {
  while (!log.empty() && log.back() <= ' ') log.pop_back();
  std::string line = log.substr(log.rfind('\n') + 1);
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

std::string WithLog(const std::string& message, const std::string& log) {
  const std::string line = LastLine(log);
  return line.empty() ? message
                      : fmt::format("{}; its last words: {}", message, line);
}

Measurement ResultOf(const MeasureRequest& request,
                     const IsolatedOutcome& outcome) {
  if (outcome.end.kind == ProcessEnd::Kind::kDeadline) {
    return FailedMeasurement(
        request, MeasureStatus::kDeadline,
        WithLog(fmt::format("killed after {} s",
                            FormatNumber(request.options.deadline_s, 1)),
                outcome.log));
  }
  if (outcome.end.kind == ProcessEnd::Kind::kSignalled) {
    return FailedMeasurement(request, MeasureStatus::kCrashed,
                             WithLog(ToString(outcome.end), outcome.log));
  }
  try {
    return MeasurementFromJson(outcome.result);
  } catch (const Error&) {
    return FailedMeasurement(
        request, MeasureStatus::kCrashed,
        WithLog(
            fmt::format("exit status {} without a result", outcome.end.status),
            outcome.log));
  }
}

}  // namespace

Measurement MeasureIsolated(const MeasureRequest& request,
                            const std::vector<std::string>& worker) {
  try {
    RefuseUntrustedCode(request);
    return ResultOf(request, measure::RunIsolated(CommandFor(request, worker)));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    return FailedMeasurement(request, MeasureStatus::kFailed, error.what());
  }
}

}  // namespace foretell
