#include "cli/commands/suggest_change.h"

#include <span>

#include "src/judge/summary.h"

namespace foretell::cli {
namespace {

/// A change is worth a line where it saves this share of memory or time.
constexpr double kLeastSaved = 0.1;

bool ComputesInFp32(const ModelOptions& model) {
  const Precision precision = model.run.precision;
  return !model.run.autocast &&
         (precision == Precision::kFp32 || precision == Precision::kTf32);
}

/// A change of the flags, where it applies to a step.
struct ChangeRow {
  const char* flags;
  bool (*applies)(const ModelOptions& model, const DeviceSpec& device);
  void (*apply)(ModelOptions& model, const DeviceSpec& device);
};

constexpr ChangeRow kGradMode = {
    "torch.no_grad()",
    [](const ModelOptions& model, const DeviceSpec&) {
      return model.run.grad_mode;
    },
    [](ModelOptions& model, const DeviceSpec&) {
      model.run.grad_mode = false;
    }};
constexpr ChangeRow kRecompute = {
    "--recompute auto (activation checkpointing)",
    [](const ModelOptions& model, const DeviceSpec&) {
      return model.run.mode == Mode::kTraining && model.loop.recompute.empty();
    },
    [](ModelOptions& model, const DeviceSpec&) {
      model.loop.recompute = "auto";
    }};
constexpr ChangeRow kAutocast = {
    "--autocast (mixed precision)",
    [](const ModelOptions& model, const DeviceSpec&) {
      return ComputesInFp32(model);
    },
    [](ModelOptions& model, const DeviceSpec& device) {
      model.run.autocast = true;
      model.run.precision = AutocastPrecision(device);
    }};

/// In the order in which they are tried.
constexpr const ChangeRow* kToFit[] = {&kGradMode, &kRecompute, &kAutocast};
constexpr const ChangeRow* kToSpeedUp[] = {&kGradMode, &kAutocast};

bool IsWorthwhile(const ReportSuggestion& suggestion, const Report& report) {
  const Prediction& now = report.prediction;
  const double kept = 1 - kLeastSaved;
  const bool saves =
      suggestion.at_most_mib < kept * now[Target::kMemory].interval.hi;
  const mig::Verdict& device = report.recommendation.whole_device;
  if (OutcomeOf(device) != Outcome::kFits) return saves;
  if (suggestion.at_most_mib > static_cast<double>(device.usable_mib)) {
    return false;
  }
  const double latency_ms = now[Target::kLatency].value;
  return saves ? suggestion.latency_ms <= latency_ms
               : suggestion.latency_ms < kept * latency_ms;
}

}  // namespace

std::optional<ReportSuggestion> ChangeFinder::Find(const Session& session,
                                                   const Report& report) {
  const bool fits =
      OutcomeOf(report.recommendation.whole_device) == Outcome::kFits;
  const std::span<const ChangeRow* const> rows =
      fits ? std::span<const ChangeRow* const>(kToSpeedUp)
           : std::span<const ChangeRow* const>(kToFit);
  const DeviceSpec device = flags_.device.Find();
  for (const ChangeRow* row : rows) {
    if (!row->applies(model_, device)) continue;
    ModelOptions changed = model_;
    row->apply(changed, device);
    const std::optional<ReportSuggestion> suggestion =
        Simulate(row->flags, changed, session);
    if (suggestion && IsWorthwhile(*suggestion, report)) return suggestion;
  }
  return std::nullopt;
}

std::optional<ReportSuggestion> ChangeFinder::Simulate(
    const std::string& change, const ModelOptions& changed,
    const Session& session) {
  try {
    if (!predictors_.contains(change)) {
      predictors_.emplace(change,
                          flags_.Make(changed.run, /*with_least=*/false));
    }
    const Prediction prediction = predictors_.at(change).Predict(
        session.Graph({.run = changed.run, .loop = changed.loop}));
    return ReportSuggestion{
        .flags = change,
        .at_most_mib = prediction[Target::kMemory].interval.hi,
        .latency_ms = prediction[Target::kLatency].value};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace foretell::cli
