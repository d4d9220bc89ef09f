#include "src/predict/learned_predictors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "foretell/error.h"
#include "src/core/name_table.h"
#include "src/core/units.h"
#include "src/memory/momentum_step.h"
#include "src/predict/embedded_checkpoints.h"
#include "src/predict/learned_figure.h"
#include "src/predict/learned_model.h"
#include "src/predict/predict_graph.h"

namespace foretell::learned {
namespace {

bool IsAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Which runs the labels of a term set are of.
struct KnownRuns {
  TermSet terms;
  Mode mode;
  bool autocast;  ///< To f16; else FP32 or TF32 without any.
  /// Whether it answers for devices that it learned from, or for others; empty:
  /// for all.
  std::optional<bool> known_device;
  /// Measurements speak for it where nobody asks for it: its labels do not
  /// leave open how they came about.
  bool by_default;
};

constexpr std::array<KnownRuns, 3> kKnownRuns = {
    {{TermSet::kKernels, Mode::kInference, true, true, true},
     {TermSet::kPortableKernels, Mode::kInference, true, false, true},
     {TermSet::kReplay, Mode::kTraining, false, std::nullopt, false}}};

const KnownRuns* KnownRunsOf(const CheckpointInfo& info) {
  const auto* runs =
      std::ranges::find(kKnownRuns, info.recipe.terms, &KnownRuns::terms);
  return runs == kKnownRuns.end() ? nullptr : runs;
}

bool IsCastAs(const KnownRuns& runs, const LearnedRequest& request) {
  const Run& run = request.run;
  const std::optional<DType>& cast = request.graph.info().autocast;
  return runs.autocast
             ? run.autocast && cast.value_or(DType::kF16) == DType::kF16
             : !run.autocast && !cast &&
                   (run.precision == Precision::kFp32 ||
                    run.precision == Precision::kTf32);
}

/// Whether a network has learned from such runs, and answers for the device.
bool KnowsSuchRuns(const CheckpointInfo& info, const LearnedRequest& request) {
  const KnownRuns* runs = KnownRunsOf(info);
  if (runs == nullptr || runs->mode != request.run.mode) return false;
  const bool known = IsAmong(info.devices, request.device.name);
  return IsCastAs(*runs, request) &&
         runs->known_device.value_or(known) == known;
}

/// Adds what the run's optimizer takes beyond that of the labels of training
/// memory. They do not state it; networks of which parameters are most lie
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

/// Why the analytic figure is the better one after all; empty when it is not.
std::string Objection(const LearnedFigure& figure,
                      const LearnedRequest& request,
                      const Prediction& prediction) {
  // Labels are of large batches, where the CPU runs ahead.
  if (figure.target == Target::kLatency &&
      prediction.cost.dispatch_ms > figure.value) {
    return "the CPU takes longer to dispatch the operators than the GPU is "
           "predicted to be busy";
  }
  if (request.method == Method::kAuto && figure.source.IsFar()) {
    return figure.FarText() + "; --method learned takes their word";
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
    if (!KnowsSuchRuns(learned.info(), request)) continue;
    if (request.method == Method::kAuto &&
        !KnownRunsOf(learned.info())->by_default)
      continue;
    improved = true;
    const LearnedFigure figure = Ask(learned, request);
    const std::string objection = Objection(figure, request, prediction);
    std::vector<std::string>& warnings = prediction[figure.target].warnings;
    if (!objection.empty()) {
      warnings.push_back(fmt::format("{}: analytic, as {}",
                                     TargetName(figure.target), objection));
      continue;
    }
    PutFigure(figure, prediction);
    WarnOf(figure, request.device, warnings);
  }
  if (request.method == Method::kLearned && !improved) {
    prediction.warnings.emplace_back(
        "no figure of such a run was learned: latency is known of inference "
        "under autocast, memory of training in fp32; all figures are analytic");
  }
}

}  // namespace foretell::learned
