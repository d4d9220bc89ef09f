#include "foretell/session.h"

#include <utility>

#include "foretell/zoo.h"

namespace foretell {
namespace {

Program Open(const std::string& model, const LoadOptions& options) {
  if (model.starts_with(zoo::kPrefix)) return zoo::Load(model);
  return LoadModel(model, options);
}

}  // namespace

std::vector<std::string> WarningsOf(const Trace& trace,
                                    const Prediction& prediction) {
  std::vector<std::string> warnings = trace.warnings;
  const std::vector<std::string> doubts = prediction.AllWarnings();
  warnings.insert(warnings.end(), doubts.begin(), doubts.end());
  return warnings;
}

Session::Session(const std::string& model, SessionOptions options)
    : program_(Open(model, options.load)), options_(std::move(options)) {}

Session::Session(Program program, SessionOptions options)
    : program_(std::move(program)), options_(std::move(options)) {}

const Trace& Session::Step() {
  if (!step_) step_ = StepWith({});
  return *step_;
}

std::vector<BoundInput> Session::Inputs(const StepChange& change) const {
  InputRequest request = options_.inputs;
  if (change.batch) request.batch = change.batch;
  return BindInputs(program_.inputs(), request, program_.name());
}

Trace Session::StepWith(const StepChange& change) const {
  return TraceProgram(program_, Inputs(change),
                      {.run = change.run.value_or(options_.run),
                       .loop = change.loop.value_or(options_.loop),
                       .device = options_.device,
                       .seed = options_.seed,
                       .chose_precision = options_.chose_precision});
}

Prediction Session::Predict(const Predictor& predictor) {
  return predictor.Predict(Step().graph);
}

Prediction Session::Predict(const DeviceSpec& device,
                            const PredictorOptions& options) {
  return Predict(Predictor::Make(device, options_.run, options));
}

Answer Session::Ask(const Predictor& predictor,
                    const mig::RecommendOptions& options) {
  Prediction prediction = Predict(predictor);
  mig::Recommendation placement = mig::Recommend(
      ToDemand(prediction, program_.name()), predictor.device(), options);
  std::vector<std::string> warnings = WarningsOf(Step(), prediction);
  return {.prediction = std::move(prediction),
          .placement = std::move(placement),
          .warnings = std::move(warnings)};
}

}  // namespace foretell
