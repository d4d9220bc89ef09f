#include "cli/commands/step_simulator.h"

#include <fmt/core.h>

#include "src/core/failure.h"
#include "src/graph/parallel_plan.h"

namespace foretell::cli {
namespace {

/// Refuses what only eager PyTorch does, as the flags do (partners.cc).
void RefuseEagerChanges(const StepSetup& setup) {
  const TrainingLoop& loop = setup.loop;
  const Runtime runtime = setup.run.runtime.runtime;
  if (runtime == Runtime::kEager) return;
  if (CanShareStep(runtime, loop.parallel) && !loop.offload_activations) return;
  throw InvalidArgument(
      "runtime {}: offloading and several GPUs are modelled in eager PyTorch "
      "alone, {} also with compile",
      ToString(setup.run.runtime), CompiledPlans());
}

}  // namespace

StepSimulator::StepSimulator(const ModelOptions& model,
                             const PredictorFlags& predictor,
                             std::optional<std::int64_t> batch)
    : catalog_(predictor.device.Catalog()),
      options_(predictor.ToOptions(catalog_)),
      device_(catalog_.FindDevice(predictor.device.device)),
      session_(model.Open(batch)) {}

StepSetup StepSimulator::Setup() const {
  const TraceOptions& step = session_.request().options;
  return {.run = step.run,
          .loop = step.loop,
          .expandable_segments = options_.allocator.expandable_segments};
}

std::optional<std::int64_t> StepSimulator::BatchOfPart(
    std::int64_t parts) const {
  const std::optional<std::int64_t> batch = session_.request().inputs.batch;
  if (parts == 1) return batch;
  if (batch && *batch % parts == 0) return *batch / parts;
  throw InvalidArgument(
      "{}: a batch {} cannot be divided by {}", program().name(),
      batch ? fmt::format("of {}", *batch) : "without --batch", parts);
}

StepChange StepSimulator::ChangeTo(const StepSetup& setup) const {
  RefuseEagerChanges(setup);
  if (session_.plan() != nullptr && setup.loop.parallel != ParallelSpec{}) {
    throw InvalidArgument("{}: several GPUs are for one step, not for several",
                          program().name());
  }
  return {
      .batch = BatchOfPart(setup.parts), .run = setup.run, .loop = setup.loop};
}

PredictorOptions StepSimulator::OptionsOf(const StepSetup& setup) const {
  PredictorOptions options = options_;
  options.allocator.expandable_segments = setup.expandable_segments;
  return options;
}

Trace StepSimulator::TraceStep(const StepSetup& setup) const {
  return session_.StepWith(ChangeTo(setup));
}

Prediction StepSimulator::Predict(const StepSetup& setup) const {
  return session_.With(ChangeTo(setup)).Predict(device_, OptionsOf(setup));
}

Prediction StepSimulator::Predict(const StepSetup& setup, const Trace& trace,
                                  const DeviceSpec& device) const {
  return Predictor::Make(device, setup.run, OptionsOf(setup))
      .Predict(trace.graph);
}

}  // namespace foretell::cli
