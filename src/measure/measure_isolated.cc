#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foretell/error.h"
#include "foretell/measure.h"
#include "foretell/zoo.h"
#include "frontends/sandboxed_source.h"
#include "frontends/torchscript/archive.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/numbers.h"
#include "src/measure/device_name.h"
#include "src/measure/measure_in_runtime.h"
#include "src/sandbox/worker.h"

namespace foretell {
namespace {

using sandbox::Outcome;

/// Shows this process the device of the request alone.
void ShowDevice(const std::string& name) {
  const measure::DeviceName device = measure::ParseDeviceName(name);
  if (device.kind == measure::DeviceKind::kMig) {
    setenv("CUDA_VISIBLE_DEVICES", device.mig_uuid.c_str(), 1);
  } else if (device.kind == measure::DeviceKind::kCpu) {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
  }
}

/// The file's first bytes; empty for a network of the zoo, or without a file.
std::string StartOf(const std::string& model) {
  try {
    return FirstBytes(OpenModelFile(model), 4);
  } catch (const Error&) {
    return "";
  }
}

/// A GPU's driver needs calls that a lock would forbid.
void RefuseUntrustedCode(const MeasureRequest& request) {
  const bool is_locked = measure::ParseDeviceName(request.device).kind ==
                         measure::DeviceKind::kCpu;
  if (is_locked || request.options.trusts_code) return;
  if (!torchscript::LooksLikeZip(StartOf(request.model))) return;
  throw Unsupported(
      "a TorchScript or torch.export file chooses the operators, which run on "
      "{} with all your permissions; allow it with --trust",
      request.device);
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

Measurement ResultOf(const MeasureRequest& request, const Outcome& outcome,
                     const std::string& log) {
  switch (outcome.kind) {
    case Outcome::Kind::kFailed:
      return FailedMeasurement(request, MeasureStatus::kFailed, outcome.text);
    case Outcome::Kind::kTimedOut:
      return FailedMeasurement(
          request, MeasureStatus::kDeadline,
          WithLog(fmt::format("killed after {} s",
                              FormatNumber(request.options.deadline_s, 1)),
                  log));
    case Outcome::Kind::kDied:
      return FailedMeasurement(request, MeasureStatus::kCrashed,
                               WithLog(outcome.text, log));
    case Outcome::Kind::kDone:
      break;
  }
  try {
    return MeasurementFromJson(outcome.text);
  } catch (const Error& error) {
    return FailedMeasurement(request, MeasureStatus::kCrashed,
                             WithLog(error.what(), log));
  }
}

/// The file that the request names, open; nothing where it names a network of
/// the zoo.
std::optional<RegularFile> OpenFile(const MeasureRequest& request) {
  if (zoo::IsNetwork(request.model)) return std::nullopt;
  return OpenModelFile(request.model);
}

sandbox::WorkerOptions WorkerOptionsOf(const MeasureRequest& request,
                                       const std::optional<RegularFile>& file) {
  sandbox::WorkerOptions options{.limits = {.core_bytes = 0},
                                 .deadline_s = request.options.deadline_s,
                                 .hears_words = true};
  const bool is_on_cpu = measure::ParseDeviceName(request.device).kind ==
                         measure::DeviceKind::kCpu;
  if (!is_on_cpu || !file) return options;
  options.lock = {.keep = {file->descriptor.number()},
                  .makes_code = true,
                  .measures = true};
  return options;
}

Measurement MeasureInWorker(const MeasureRequest& request,
                            const sandbox::WorkerOptions& options,
                            const MeasureFunction& measure) {
  sandbox::Worker worker(options, [&request, &measure] {
    ShowDevice(request.device);
    return [&request, &measure](std::string_view) {
      return MeasurementToJson(measure(request));
    };
  });
  worker.Give("");
  const Outcome outcome = worker.Await();
  return ResultOf(request, outcome, worker.last_words());
}

}  // namespace

Measurement MeasureIsolated(const MeasureRequest& request,
                            const MeasureFunction& measure) {
  if (!measure && request.run.runtime.runtime != Runtime::kEager) {
    return foretell::measure::MeasureInRuntime(request);
  }
  std::optional<RegularFile> file;
  sandbox::WorkerOptions options;
  try {
    RefuseUntrustedCode(request);
    if (!measure) file = OpenFile(request);
    options = WorkerOptionsOf(request, file);
  } catch (const Error& error) {
    return FailedMeasurement(request, MeasureStatus::kFailed, error.what());
  }
  if (measure) return MeasureInWorker(request, options, measure);
  return MeasureInWorker(request, options, [&file](const MeasureRequest& its) {
    return MeasureHere(
        file ? LoadHere(std::move(*file), its.load) : zoo::Load(its.model),
        its);
  });
}

}  // namespace foretell
