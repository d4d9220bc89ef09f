#include "src/answer/learned_predictors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foretell/error.h"
#include "src/answer/embedded_checkpoints.h"
#include "src/answer/known_runs.h"
#include "src/answer/learned_figure.h"
#include "src/answer/learned_model.h"
#include "src/answer/predict_graph.h"
#include "src/core/units.h"
#include "src/device/compute_capability.h"
#include "src/memory/momentum_step.h"

namespace foretell::learned {
namespace {

/// A set of terms, and the runs that its network's labels are of.
struct TermRow {
  TermSet terms;
  KnownRuns runs;
  /// Whether measurements support its use by default (Method::kAuto).
  bool (*by_default)(const DeviceSpec&);
};

bool Always(const DeviceSpec& /*device*/) { return true; }

/// Labels of training memory do not state their conditions.
bool Never(const DeviceSpec& /*device*/) { return false; }

/// The analytic model was fitted to operators of an A100, and published runs
/// under autocast there are nearer to it (docs/learned.md).
bool AwayFromA100(const DeviceSpec& device) {
  return device.compute_capability != device::kAmpereData;
}

constexpr std::array<TermRow, 3> kTermRows = {
    {{TermSet::kKernels, {Mode::kInference, Casting::kAutocast, true}, &Always},
     {TermSet::kPortableKernels,
      {Mode::kInference, Casting::kAutocast, false},
      &AwayFromA100},
     {TermSet::kReplay, {Mode::kTraining, Casting::kFp32, {}}, &Never}}};

/// Whether the network is asked of such a run.
bool IsAsked(const CheckpointInfo& info, const LearnedRequest& request) {
  const auto* row =
      std::ranges::find(kTermRows, info.recipe.terms, &TermRow::terms);
  return row != kTermRows.end() && KnowsSuchRuns(row->runs, info, request) &&
         (request.method != Method::kAuto || row->by_default(request.device));
}

/// Adds what the run's optimizer needs beyond that of the labels of training
/// memory. They do not state it; networks that consist mostly of parameters lie
/// nearest to SGD with momentum (docs/learned.md).
void ChangeOptimizer(const LearnedRequest& request, LearnedFigure& figure) {
  const double more_mib = ToMiB(memory::ReservedBeyondMomentum(
      request.graph, {.device = request.device, .context = request.context}));
  figure.value += more_mib;
  if (!figure.interval) return;
  figure.interval->lo += more_mib;
  figure.interval->hi += more_mib;
}

/// The one figure of a term network.
LearnedFigure Ask(const LearnedModel& learned, const LearnedRequest& request) {
  LearnedFigure figure =
      PredictGraph(learned, request.graph,
                   {&request.device, request.run, request.context})
          .front();
  if (figure.target == Target::kMemory) ChangeOptimizer(request, figure);
  return figure;
}

/// Reason to keep the analytic figure; empty without one.
std::string Objection(const LearnedFigure& figure,
                      const LearnedRequest& request,
                      const Prediction& prediction) {
  const std::string waits = DispatchObjection(figure, prediction);
  if (!waits.empty()) return waits;
  if (request.method == Method::kAuto && figure.source.IsFar()) {
    return figure.IsOutside()
               ? figure.FarText()
               : figure.FarText() + "; --method learned takes its word";
  }
  return "";
}

}  // namespace

const LearnedPredictors& LearnedPredictors::BuiltIn() {
  static const LearnedPredictors predictors = [] {
    std::vector<LearnedModel> models;
    for (const EmbeddedFile& one : EmbeddedCheckpoints()) {
      models.emplace_back(ParseCheckpoint(one.bytes, std::string(one.path)),
                          std::string(one.path));
    }
    return LearnedPredictors(std::move(models));
  }();
  return predictors;
}

LearnedPredictors::LearnedPredictors(std::vector<LearnedModel> models)
    : models_(std::make_shared<const std::vector<LearnedModel>>(
          std::move(models))) {
  for (const LearnedModel& learned : *models_) {
    const NetworkKind& kind = learned.info().network.kind;
    if (kind.terms) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("network '{}' sees operators; expected one that sees terms",
                    NetworkKindName(kind)));
  }
}

void LearnedPredictors::Improve(const LearnedRequest& request,
                                Prediction& prediction) const {
  if (request.method == Method::kAnalytic || request.graph.nodes().empty()) {
    return;
  }
  bool improved = false;
  for (const LearnedModel& learned : *models_) {
    if (!IsAsked(learned.info(), request)) continue;
    improved = true;
    const LearnedFigure figure = Ask(learned, request);
    const std::string objection = Objection(figure, request, prediction);
    if (!objection.empty()) {
      KeepAnalytic(figure.target, objection, prediction);
      continue;
    }
    if (!TakeFigure(figure, request, prediction)) continue;
    WarnOf(figure, request.device, prediction[figure.target].warnings);
  }
  if (request.method == Method::kLearned && !improved) {
    prediction.warnings.emplace_back(
        "no figure of such a run was learned: latency is known of inference "
        "under autocast, memory of training in fp32; all figures are analytic");
  }
}

}  // namespace foretell::learned
