#include "foretell/session.h"

#include <algorithm>
#include <utility>

#include "foretell/zoo.h"

namespace foretell {
namespace {

Program Open(const std::string& model, const LoadOptions& options) {
  if (zoo::IsNetwork(model)) return zoo::Load(model);
  return LoadModel(model, options);
}

StepRequest Changed(StepRequest request, const StepChange& change) {
  if (change.batch) request.inputs.batch = change.batch;
  if (change.run) request.options.run = *change.run;
  if (change.loop) request.options.loop = *change.loop;
  return request;
}

/// `pass` of a plan of `kind` once the session's step has changed.
StepRequest Followed(const OtherPass& pass, RunKind kind, StepChange change) {
  const Mode mode = pass.request.options.run.mode;
  if (kind == RunKind::kEvaluation) change.batch.reset();
  if (mode != Mode::kTraining) change.loop.reset();
  if (change.run) change.run->mode = mode;
  return Changed(pass.request, change);
}

/// Warning if no batch was chosen.
constexpr char kBatchOfOne[] =
    "batch 1: the model does not fix its batch; choose another with --batch N";

}  // namespace

std::vector<std::string> WarningsOf(const Trace& trace,
                                    const Prediction& prediction) {
  std::vector<std::string> warnings = trace.warnings;
  const std::vector<std::string> doubts = prediction.AllWarnings();
  warnings.insert(warnings.end(), doubts.begin(), doubts.end());
  return warnings;
}

Session::Session(const std::string& model, StepRequest request,
                 const LoadOptions& load)
    : Session(Open(model, load), std::move(request)) {}

Session::Session(Program program, StepRequest request)
    : program_(std::move(program)), request_(std::move(request)) {}

const Trace& Session::Step() {
  if (!step_) step_ = StepWith({});
  return *step_;
}

Trace Session::StepWith(const StepChange& change) const {
  const auto [inputs, options] = Changed(request_, change);
  Trace trace = TraceProgram(
      program_, BindInputs(program_.inputs(), inputs, program_.name()),
      options);
  if (TakesBatchOfOne(program_.inputs(), inputs)) {
    trace.warnings.emplace_back(kBatchOfOne);
  }
  return trace;
}

Session Session::With(const StepChange& change) const {
  Session session(program_, Changed(request_, change));
  session.plan_ = plan_;
  if (!plan_) return session;
  for (OtherPass& pass : session.plan_->others) {
    pass.request = Followed(pass, plan_->kind, change);
  }
  return session;
}

const Trace& Session::StepOfPass(std::size_t i) {
  if (i == 0) return Step();
  const auto found = other_steps_.find(i);
  if (found != other_steps_.end()) return found->second;
  const OtherPass& pass = plan_->others.at(i - 1);
  return other_steps_
      .emplace(i, Session(pass.program, pass.request).StepWith({}))
      .first->second;
}

Prediction Session::Predict(const Predictor& predictor) {
  if (!plan_) return predictor.Predict(Step().graph);
  const bool has_networks = plan_->kind == RunKind::kNetworks;
  std::vector<RunPass> passes;
  for (const std::size_t i : plan_->order) {
    passes.push_back({.graph = &StepOfPass(i).graph,
                      .network = has_networks ? static_cast<int>(i) : 0});
  }
  const auto step = std::ranges::find(plan_->order, std::size_t{0});
  Prediction prediction = predictor.PredictRun(
      PassSequence(std::move(passes)),
      static_cast<std::size_t>(step - plan_->order.begin()), has_networks);
  for (std::size_t i = 1; has_networks && i <= plan_->others.size(); ++i) {
    for (const std::string& warning : StepOfPass(i).warnings) {
      prediction.warnings.push_back(plan_->others[i - 1].label + ": " +
                                    warning);
    }
  }
  return prediction;
}

Prediction Session::Predict(const DeviceSpec& device,
                            const PredictorOptions& options) {
  return Predict(Predictor::Make(device, request_.options.run, options));
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
