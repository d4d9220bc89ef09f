#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foretell/device.h"
#include "foretell/frontends.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "foretell/program.h"
#include "foretell/run.h"
#include "foretell/trace.h"
#include "foretell/training_loop.h"

// Start here. A model file, and how it is run, give memory, time and energy:
//
//   Session session("resnet50.onnx", {.inputs = {.batch = 32},
//                                     .options = {.run = {.autocast = true}}});
//   const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
//   const Prediction prediction =
//       session.Predict(catalog.FindDevice("rtx-4090"));
//   prediction[Target::kLatency].value;  // ms

namespace foretell {

/// How a step differs from a session's own; an empty field does not.
struct StepChange {
  std::optional<std::int64_t> batch = {};
  std::optional<Run> run = {};
  std::optional<TrainingLoop> loop = {};
};

/// All there is to report in addition to the figures: warnings of the frontend
/// and the trace, then those of the prediction.
std::vector<std::string> WarningsOf(const Trace& trace,
                                    const Prediction& prediction);

/// What a device needs for a step, and where on it the step fits.
struct Answer {
  Prediction prediction;
  mig::Recommendation placement;
  std::vector<std::string> warnings;  ///< WarningsOf.
};

/// Why a process runs other passes in addition to the session's own step.
enum class RunKind : std::uint8_t {
  kLengths,     ///< Steps of the same network whose inputs have other sizes.
  kNetworks,    ///< Other networks; a step's time is the sum of all passes.
  kEvaluation,  ///< Inference of the network that is trained.
};

/// A pass of such a process.
struct OtherPass {
  std::string label;  ///< What it is, for reports.
  Program program;
  StepRequest request;
};

/// All that a process runs in a loop; PassSequence has the rules.
struct PassPlan {
  RunKind kind = RunKind::kLengths;
  std::string label;  ///< Of the session's own step.
  std::vector<OtherPass> others;
  /// The passes in order: 0 is the own step, i > 0 others[i - 1]. Contains 0.
  std::vector<std::size_t> order;

  /// The label of pass `i`, numbered as in `order`.
  const std::string& LabelOf(std::size_t i) const {
    return i == 0 ? label : others.at(i - 1).label;
  }
};

/// A model that was opened once, and is traced and predicted as often as asked.
///
/// Not safe to use from several threads at once. Every method throws Error that
/// names the model.
class Session {
 public:
  /// Opens `model`: a file or folder that LoadModel reads, in a sandbox unless
  /// LoadOptions::sandbox says otherwise, or a network of the zoo
  /// (zoo::kPrefix), in this process. Errors as LoadModel and zoo::Load.
  explicit Session(const std::string& model, StepRequest request = {},
                   const LoadOptions& load = {});
  /// Takes a program that is open.
  explicit Session(Program program, StepRequest request = {});

  const Program& program() const { return program_; }
  const StepRequest& request() const { return request_; }

  /// The trace of the session's own step, made by the first call; a batch that
  /// the model and the request leave open is 1, with a warning. Errors as
  /// BindInputs and TraceProgram.
  const Trace& Step();
  /// The trace of a step that differs, made by every call. As Step.
  Trace StepWith(const StepChange& change) const;
  /// A session whose step differs. Other passes of its plan follow with the
  /// run, those that train also with the loop, and all but an evaluation with
  /// the batch; each keeps its mode.
  Session With(const StepChange& change) const;
  /// The graph of StepWith alone.
  OperatorGraph Graph(const StepChange& change = {}) const {
    return StepWith(change).graph;
  }

  /// Predictions are then of a process that runs all passes of `plan`:
  /// PredictRun, with the own step as `step`.
  void RunInTurn(PassPlan plan) { plan_ = std::move(plan); }
  /// Null unless RunInTurn was called.
  const PassPlan* plan() const { return plan_ ? &*plan_ : nullptr; }
  /// The trace of pass `i` of the plan, numbered as in PassPlan::order, made by
  /// the first call. Errors as Step.
  const Trace& StepOfPass(std::size_t i);

  /// What Step needs. Errors as Step and Predictor::Predict.
  Prediction Predict(const Predictor& predictor);
  /// The same by a predictor of its own. Errors as Predictor::Make, too.
  Prediction Predict(const DeviceSpec& device,
                     const PredictorOptions& options = {});
  /// The same, with the MIG profiles that it fits. Errors as Predict and
  /// mig::Recommend.
  Answer Ask(const Predictor& predictor,
             const mig::RecommendOptions& options = {});

 private:
  Program program_;
  StepRequest request_;
  std::optional<Trace> step_;
  std::optional<PassPlan> plan_;
  std::map<std::size_t, Trace> other_steps_;  ///< As PassPlan::order.
};

}  // namespace foretell
