// One measurement from start to end, in this process. Read this first.
#include <ATen/Context.h>

#include <ctime>
#include <functional>
#include <string>

#include "foretell/error.h"
#include "foretell/measure.h"
#include "src/core/clock.h"
#include "src/core/failure.h"
#include "src/measure/device_backend.h"
#include "src/measure/device_name.h"
#include "src/measure/energy_window.h"
#include "src/measure/environment.h"
#include "src/measure/failure.h"
#include "src/measure/measured_step.h"
#include "src/measure/statistics.h"
#include "src/measure/timed_runs.h"

namespace foretell {
namespace {

using measure::DeviceBackend;
using measure::EnergyCounter;
using measure::Reading;

constexpr double kSecondsPerMillisecond = 1e-3;

Measurement Echo(const MeasureRequest& request) {
  Measurement result{.model = request.model,
                     .mode = request.run.mode,
                     .precision = request.run.precision,
                     .batch = request.inputs.batch,
                     .device = request.device,
                     .seed = request.seed,
                     .measured_at = NowUtc()};
  if (request.run.mode == Mode::kTraining) {
    result.optimizer = OptimizerName(request.run.optimizer);
  }
  return result;
}

/// The batch if the request names none; empty without such an input.
std::optional<std::int64_t> LeadingDimension(
    const std::vector<BoundInput>& inputs) {
  for (const BoundInput& input : inputs) {
    if (!input.type.shape.empty()) return input.type.shape.front();
  }
  return std::nullopt;
}

void Check(const MeasureRequest& request) {
  const MeasureOptions& options = request.options;
  if (request.run.autocast && request.run.precision != Precision::kFp32 &&
      request.run.precision != Precision::kTf32) {
    throw InvalidArgument(
        "measure: autocast casts parameters in fp32, not in {}",
        PrecisionName(request.run.precision));
  }
  if (request.run.grad_mode && request.run.mode == Mode::kTraining) {
    throw InvalidArgument(
        "measure: grad mode applies to inference; training always records");
  }
  const EnergyOptions& energy = options.energy_options;
  if (options.warmup_runs >= 0 && options.min_runs >= 1 &&
      options.min_seconds >= 0 && energy.repeats >= 1 &&
      energy.min_window_s >= 0 && energy.min_counter_steps >= 1 &&
      energy.idle_window_s >= 0) {
    return;
  }
  throw InvalidArgument(
      "measure: runs, repeats and steps must be at least 1, times at least 0");
}

MeasuredEnergy EnergyOf(const std::function<void()>& step,
                        DeviceBackend& device, measure::Clock& clock,
                        const MeasureRequest& request, Measurement& result) {
  const Reading<EnergyCounter*> counter = device.Energy();
  if (!counter.value) {
    result.notes.push_back({"energy", counter.reason});
    return {};
  }
  const measure::EnergyWork work{
      .run =
          [&](std::int64_t runs) {
            for (std::int64_t run = 0; run < runs; ++run) step();
            device.Synchronize();
          },
      .run_s = result.latency->median_ms * kSecondsPerMillisecond};
  return measure::MeasureEnergy(work, **counter.value, clock,
                                request.options.energy_options, result.notes);
}

void Measure(const Program& program, const MeasureRequest& request,
             Measurement& result) {
  Check(request);
  result.format = program.format();
  result.warnings = program.warnings(request.run.mode);
  result.inputs = BindInputs(program.inputs(), request.inputs, program.name());
  if (!result.batch) result.batch = LeadingDimension(result.inputs);
  measure::SystemClock clock;
  // Before anything that could ask LibTorch for CUDA.
  const std::unique_ptr<DeviceBackend> device = measure::StartDevice(request);
  measure::PrepareLibTorch(request);
  result.environment =
      measure::ReadEnvironment(*device, request.run, result.notes);
  at::manual_seed(request.seed);
  measure::MeasuredStep measured(program, result.inputs, request,
                                 device->device());
  const std::function<void()> step = [&measured] { measured.Run(); };

  device->ResetPeaks();
  result.latency = measure::Summarize(
      measure::TimeRuns(step, *device, clock, request.options));
  result.state = device->State(result.notes);
  result.memory = device->Memory(result.notes);
  if (request.options.energy) {
    result.energy = EnergyOf(step, *device, clock, request, result);
  } else {
    result.notes.push_back({"energy", "not asked for"});
  }
}

}  // namespace

Measurement FailedMeasurement(const MeasureRequest& request,
                              MeasureStatus status,
                              const std::string& message) {
  Measurement result = Echo(request);
  result.status = status;
  result.message = message;
  return result;
}

Measurement MeasureHere(const Program& program, const MeasureRequest& request) {
  Measurement result = Echo(request);
  try {
    Measure(program, request, result);
    result.status = MeasureStatus::kOk;
  } catch (const std::exception& error) {
    measure::Failure failure = measure::Classify(error);
    result.status = failure.status;
    result.message = std::move(failure.message);
    const auto* ours = dynamic_cast<const Error*>(&error);
    if (ours != nullptr && ours->code() == ErrorCode::kNotFound &&
        request.device.starts_with("MIG-")) {
      result.status = MeasureStatus::kMigUnsupported;
    }
  }
  return result;
}

}  // namespace foretell
