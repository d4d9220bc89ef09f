#include "src/model/learned_predictors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "foretell/error.h"
#include "foretell/features.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/model/embedded_checkpoints.h"
#include "src/model/learned_model.h"
#include "src/model/term_batch.h"

namespace foretell::model {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 3> kMethods = {
    {{Method::kAuto, "auto"},
     {Method::kAnalytic, "analytic"},
     {Method::kLearned, "learned"}}};

bool IsAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether a network has learned from such runs.
bool KnowsSuchRuns(const CheckpointInfo& info, const OperatorGraph& graph,
                   const LearnedRequest& request) {
  const GraphInfo& run = graph.info();
  const bool known = IsAmong(info.devices, request.device.name);
  switch (*TermKindOf(info.network.kind)) {
    case TermKind::kKernels:
      return run.mode == Mode::kInference && request.mode.autocast && known;
    case TermKind::kPortableKernels:
      return run.mode == Mode::kInference && request.mode.autocast && !known;
    case TermKind::kReplay:
      return run.mode == Mode::kTraining && run.precision == Precision::kFp32;
  }
  return false;
}

/// Whether measurements speak for it where nobody asks for it: not where its
/// labels leave open how they came about.
bool IsDefault(const CheckpointInfo& info) {
  return TermKindOf(info.network.kind) != TermKind::kReplay;
}

std::vector<float> ScaledStatics(const CheckpointInfo& info,
                                 const OperatorGraph& graph,
                                 const DeviceSpec& device) {
  const StaticFeatures statics = CountStaticFeatures(graph);
  const InputSource source{.statics = &statics,
                           .device = &device,
                           .precision = graph.info().precision};
  std::vector<float> scaled;
  for (const InputColumn& column : info.inputs) {
    scaled.push_back(ScaleInput(column, RawInput(column.name, source)));
  }
  return scaled;
}

/// What a network says of one graph.
struct LearnedFigure {
  double value = 0;  ///< MiB or ms.
  std::optional<Interval> interval;
  FigureSource source;
};

LearnedFigure Ask(const LearnedModel& learned, const OperatorGraph& graph,
                  const LearnedRequest& request) {
  const at::NoGradGuard no_gradients;
  const CheckpointInfo& info = learned.info();
  const TermKind kind = *TermKindOf(info.network.kind);
  const TermTable table = MakeTerms(
      kind, graph, {request.device, request.mode, request.environment});
  const std::vector<float> statics = ScaledStatics(info, graph, request.device);
  const TermInput input[] = {{&table, statics}};
  const GraphBatch batch = CollateTerms(input, kind);
  const Target target = info.targets.front().scale.target;
  LearnedFigure figure{.value =
                           ValueOf(learned.Predict(batch, {}).front(), target)};
  figure.interval = learned.IntervalOf(target, figure.value);
  figure.source = {
      .method = std::string("learned from ").append(Joined(info.sources)),
      .trained_on = info.devices,
      .distance = learned.network().InputDistance(batch).item<double>(),
      .far_distance = info.far_distance};
  return figure;
}

bool IsFar(const LearnedFigure& figure) {
  const FigureSource& source = figure.source;
  return source.far_distance && *source.distance > *source.far_distance;
}

std::string FarText(const LearnedFigure& figure) {
  return "unlike the networks that were learned from (distance " +
         std::to_string(*figure.source.distance) +
         ", 99 % of those are below " +
         std::to_string(*figure.source.far_distance) + ")";
}

/// Why the analytic figure is the better one after all; empty when it is not.
std::string Objection(const LearnedFigure& figure, Target target,
                      const LearnedRequest& request,
                      const Prediction& prediction) {
  // Labels are of large batches, where the CPU runs ahead.
  if (target == Target::kLatency &&
      prediction.cost.dispatch_ms > figure.value) {
    return "the CPU takes longer to dispatch the operators than the GPU is "
           "predicted to be busy";
  }
  if (request.method == Method::kAuto && IsFar(figure)) {
    return FarText(figure) + "; --method learned takes their word";
  }
  return "";
}

void Warn(const LearnedFigure& figure, std::string_view target,
          const LearnedRequest& request, std::vector<std::string>& warnings) {
  const std::string name(target);
  if (IsFar(figure)) {
    warnings.push_back(name + ": " + FarText(figure) +
                       ": its interval need not hold");
  }
  if (!IsAmong(figure.source.trained_on, request.device.name)) {
    warnings.push_back(name + ": no measurement of " + request.device.name +
                       " was learned from, only of " +
                       Joined(figure.source.trained_on));
  }
}

void ReplaceLatency(const LearnedFigure& figure, Prediction& prediction) {
  const double ratio = figure.value / prediction.latency_ms;
  CostEstimate& cost = prediction.cost;
  for (double* part :
       {&cost.latency_ms, &cost.compute_ms, &cost.memory_ms, &cost.overhead_ms,
        &cost.energy_j, &cost.static_energy_j, &prediction.energy_j,
        &prediction.energy_interval_j.lo, &prediction.energy_interval_j.hi}) {
    *part *= ratio;
  }
  prediction.latency_ms = figure.value;
  if (figure.interval) prediction.latency_interval_ms = *figure.interval;
  prediction.latency_source = figure.source;
}

void ReplaceMemory(const LearnedFigure& figure, Prediction& prediction) {
  prediction.memory.total =
      std::llround(figure.value * static_cast<double>(kMiB));
  if (figure.interval) {
    prediction.memory_mib = *figure.interval;
    prediction.memory.total_low =
        std::llround(figure.interval->lo * static_cast<double>(kMiB));
    prediction.memory.total_high =
        std::llround(figure.interval->hi * static_cast<double>(kMiB));
  }
  prediction.memory_source = figure.source;
}

}  // namespace

std::string_view MethodName(Method method) {
  return std::ranges::find(kMethods, method,
                           &std::pair<Method, std::string_view>::first)
      ->second;
}

std::optional<Method> ParseMethod(std::string_view name) {
  const auto* found = std::ranges::find(
      kMethods, name, &std::pair<Method, std::string_view>::second);
  if (found == kMethods.end()) return std::nullopt;
  return found->first;
}

const LearnedPredictors& LearnedPredictors::BuiltIn() {
  static const LearnedPredictors predictors = [] {
    std::vector<LearnedModel> models;
    for (const EmbeddedCheckpoint& one : EmbeddedCheckpoints()) {
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
    const NetworkKind kind = learned.info().network.kind;
    if (TermKindOf(kind)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "network '" + std::string(NetworkKindName(kind)) +
                    "' sees operators; expected one that sees terms");
  }
}

void LearnedPredictors::Improve(const OperatorGraph& graph,
                                const LearnedRequest& request,
                                Prediction& prediction) const {
  if (request.method == Method::kAnalytic || graph.nodes().empty()) return;
  bool improved = false;
  for (const LearnedModel& learned : *models_) {
    if (!KnowsSuchRuns(learned.info(), graph, request)) continue;
    if (request.method == Method::kAuto && !IsDefault(learned.info())) continue;
    improved = true;
    const LearnedFigure figure = Ask(learned, graph, request);
    const Target target = learned.info().targets.front().scale.target;
    const std::string objection =
        Objection(figure, target, request, prediction);
    if (!objection.empty()) {
      prediction.warnings.push_back(std::string(TargetName(target)) +
                                    ": analytic, as " + objection);
      continue;
    }
    if (target == Target::kLatency) ReplaceLatency(figure, prediction);
    if (target == Target::kMemory) ReplaceMemory(figure, prediction);
    Warn(figure, TargetName(target), request, prediction.warnings);
  }
  if (request.method == Method::kLearned && !improved) {
    prediction.warnings.emplace_back(
        "no figure of such a run was learned: latency is known of inference "
        "under autocast, memory of training in fp32; all figures are analytic");
  }
}

}  // namespace foretell::model
