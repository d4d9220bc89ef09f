#include "cli/commands/step_simulator.h"

#include <fmt/core.h>

#include "cli/flags/open_model.h"

namespace foretell::cli {

StepSimulator::StepSimulator(const ModelOptions& model,
                             const PredictorFlags& predictor,
                             std::optional<std::int64_t> batch)
    : model_(model),
      batch_(batch),
      catalog_(predictor.device.Catalog()),
      options_(predictor.ToOptions(catalog_)),
      device_(catalog_.FindDevice(predictor.device.device)),
      program_(OpenModel(model.models.front(), model.ToLoadOptions())) {
  model.WarnOfMissingLocks();
}

StepSetup StepSimulator::Setup() const {
  model_.ToTraceOptions();
  return {.run = model_.run,
          .loop = model_.loop,
          .expandable_segments = options_.allocator.expandable_segments};
}

std::vector<BoundInput> StepSimulator::Inputs(std::int64_t parts) const {
  if (parts > 1 && (!batch_ || *batch_ % parts != 0)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a batch {} cannot be divided by {}", program_.name(),
                    batch_ ? fmt::format("of {}", *batch_) : "without --batch",
                    parts));
  }
  std::optional<std::int64_t> batch = batch_;
  if (batch) *batch /= parts;
  return BindInputs(program_.inputs(), model_.ToRequest(batch),
                    program_.name());
}

std::int64_t StepSimulator::Batch() const {
  for (const BoundInput& input : Inputs(1)) {
    if (!input.type.shape.empty()) return input.type.shape.front();
  }
  return 1;
}

Trace StepSimulator::TraceStep(const StepSetup& setup) const {
  ModelOptions changed = model_;
  changed.run = setup.run;
  changed.loop = setup.loop;
  return TraceProgram(program_, Inputs(setup.parts), changed.ToTraceOptions());
}

Prediction StepSimulator::Predict(const StepSetup& setup, const Trace& trace,
                                  const DeviceSpec& device) const {
  PredictorOptions options = options_;
  options.allocator.expandable_segments = setup.expandable_segments;
  return Predictor::Make(device, setup.run, options).Predict(trace.graph);
}

}  // namespace foretell::cli
