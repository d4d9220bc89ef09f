#include "src/answer/pmgns_predictors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "foretell/device.h"
#include "foretell/error.h"
#include "src/answer/embedded_checkpoints.h"
#include "src/answer/known_runs.h"
#include "src/answer/learned_figure.h"
#include "src/answer/learned_model.h"
#include "src/answer/pmgns_network.h"
#include "src/answer/predict_graph.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/memory/least_memory.h"

namespace foretell::learned {
namespace {

/// What the labels of a file in data/predictors/pmgns are of.
struct PmgnsRow {
  std::string_view path;
  KnownRuns runs;
  std::string_view text;
};

// What was learned without an analytic prior answers only for devices that it
// has seen.
constexpr std::array<PmgnsRow, 4> kPmgnsRows = {{
    {"data/predictors/pmgns/inference.safetensors",
     {Mode::kInference, Casting::kNone, true},
     "inference without autocast under no_grad"},
    {"data/predictors/pmgns/inference-autocast.safetensors",
     {Mode::kInference, Casting::kAutocast, {}},
     "inference under autocast to fp16"},
    {"data/predictors/pmgns/training.safetensors",
     {Mode::kTraining, Casting::kFp32, true},
     "training in fp32"},
    {"data/predictors/pmgns/training-memory.safetensors",
     {Mode::kTraining, Casting::kFp32, {}},
     "training in fp32"},
}};

const PmgnsRow& RowOf(std::string_view path) {
  const auto* row = std::ranges::find(kPmgnsRows, path, &PmgnsRow::path);
  if (row != kPmgnsRows.end()) return *row;
  throw Error(ErrorCode::kInternal,
              fmt::format("{}: nothing says which runs it knows", path));
}

const ContextModel& ContextOf(const InputRecipe& recipe) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  return recipe.context.empty() ? catalog.DefaultContext()
                                : catalog.FindContext(recipe.context);
}

bool Knows(const PmgnsNetwork& one, const LearnedRequest& request) {
  // Labels were simulated of runs under no_grad; measured ones were such, too,
  // but time is the same in grad mode.
  const bool other_mode = one.is_simulated && request.run.grad_mode &&
                          request.run.mode == Mode::kInference;
  return !other_mode && KnowsSuchRuns(one.runs, one.learned.info(), request);
}

/// "a100-pcie-40gb, a100-sxm4-40gb" where it answers for those alone.
std::string DevicesText(const PmgnsNetwork& one) {
  return one.runs.known_device ? Joined(one.learned.info().devices)
                               : "any device";
}

/// "training in fp32: memory (any device); latency, energy (a100-…)".
std::string KnownText(const std::vector<PmgnsNetwork>& networks,
                      std::string_view runs) {
  std::vector<std::string> known;
  for (const PmgnsNetwork& one : networks) {
    if (one.runs_text != runs) continue;
    std::vector<std::string> figures;
    for (const CheckpointTarget& output : one.learned.info().targets) {
      figures.emplace_back(TargetName(output.scale.target));
    }
    known.push_back(fmt::format("{} ({})", Joined(figures), DevicesText(one)));
  }
  return fmt::format("{}: {}", runs, Joined(known, "; "));
}

[[noreturn]] void RefuseRun(const std::vector<PmgnsNetwork>& networks,
                            const LearnedRequest& request) {
  std::set<std::string> known;
  const Run& run = request.run;
  for (const PmgnsNetwork& one : networks) {
    if (one.runs.mode != run.mode) continue;
    known.insert(KnownText(networks, one.runs_text));
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("method 'pmgns' knows no figure of {}{} in {}{} on {}; use "
                  "--method auto. It knows {}",
                  ModeName(run.mode), run.grad_mode ? " in grad mode" : "",
                  PrecisionName(run.precision),
                  run.autocast ? " under autocast" : "", request.device.name,
                  Joined(known, ", and ")));
}

/// "pmgns", "pmgns-kernels", "analytic x pmgns".
std::string NameOf(const CheckpointInfo& info) {
  const std::string_view kind = NetworkKindName(info.network.kind);
  return info.recipe.prior.empty()
             ? std::string(kind)
             : fmt::format("{} x {}", info.recipe.prior, kind);
}

/// Replaces the context of the labels by that of the request.
void ChangeContext(const ContextModel& own, const LearnedRequest& request,
                   LearnedFigure& figure) {
  const auto mib_of = [&request](const ContextModel& context) {
    return ToMiB(
        memory::ContextBytes(request.graph, {.device = request.device,
                                             .context = context,
                                             .torch = request.run.torch}));
  };
  const double present = mib_of(request.context);
  const double more = present - mib_of(own);
  figure.value = std::max(present, figure.value + more);
  if (!figure.interval) return;
  figure.interval->lo = std::max(present, figure.interval->lo + more);
  figure.interval->hi = std::max(present, figure.interval->hi + more);
}

std::vector<LearnedFigure> Ask(const PmgnsNetwork& one,
                               const LearnedRequest& request) {
  std::vector<LearnedFigure> figures = PredictGraph(
      one.learned, request.graph, {&request.device, request.run, one.context});
  for (LearnedFigure& figure : figures) {
    figure.source.method =
        fmt::format("{} {}", NameOf(one.learned.info()), figure.source.method);
    if (figure.target == Target::kMemory) {
      ChangeContext(one.context, request, figure);
    }
  }
  return figures;
}

/// Uses a figure for which the analytic model predicts `taught`, as it would
/// have in a label; false if the analytic one stays.
bool TakeSimulated(LearnedFigure figure, double taught,
                   const LearnedRequest& request, Prediction& prediction) {
  const std::optional<Interval> range = std::exchange(figure.interval, {});
  if (!TakeFigure(figure, request, prediction)) return false;
  if (range && (taught < range->lo || taught > range->hi)) {
    prediction[figure.target].warnings.push_back(fmt::format(
        "{}: {} {} by pmgns, {} by the analytic model that made its labels: "
        "further apart than nine of ten networks that were kept out",
        TargetName(figure.target), FormatSignificant(figure.value),
        TargetUnit(figure.target), FormatSignificant(taught)));
  }
  return true;
}

void TakeMeasured(const LearnedFigure& figure, const LearnedRequest& request,
                  Prediction& prediction) {
  const std::string objection = DispatchObjection(figure, prediction);
  if (!objection.empty()) {
    KeepAnalytic(figure.target, objection, prediction);
    return;
  }
  if (!TakeFigure(figure, request, prediction)) return;
  WarnOf(figure, request.device, prediction[figure.target].warnings);
}

void WarnOfSimulated(const std::vector<std::string>& names,
                     Prediction& prediction) {
  if (names.empty()) return;
  prediction.warnings.push_back(fmt::format(
      "{}: pmgns learned from labels that the analytic model made, not from "
      "measurements; ranges are that model's, in proportion",
      Joined(names)));
}

}  // namespace

PmgnsNetwork::PmgnsNetwork(const Checkpoint& checkpoint,
                           const std::string& path)
    : learned(checkpoint, path),
      runs(RowOf(path).runs),
      runs_text(RowOf(path).text),
      context(ContextOf(checkpoint.info.recipe)),
      is_simulated(IsOnlySimulated(checkpoint.info)) {}

const PmgnsPredictors& PmgnsPredictors::BuiltIn() {
  static const PmgnsPredictors predictors = [] {
    std::vector<PmgnsNetwork> networks;
    for (const EmbeddedFile& one : EmbeddedPmgns()) {
      const std::string path(one.path);
      networks.emplace_back(ParseCheckpoint(one.bytes, path), path);
    }
    return PmgnsPredictors(std::move(networks));
  }();
  return predictors;
}

PmgnsPredictors::PmgnsPredictors(std::vector<PmgnsNetwork> networks)
    : networks_(std::make_shared<const std::vector<PmgnsNetwork>>(
          std::move(networks))) {}

void PmgnsPredictors::Improve(const LearnedRequest& request,
                              Prediction& prediction) const {
  if (request.graph.nodes().empty()) return;
  const auto analytic = prediction.figures;
  std::set<Target> told;
  std::vector<std::string> simulated;
  for (const PmgnsNetwork& one : *networks_) {
    if (!Knows(one, request)) continue;
    for (const LearnedFigure& figure : Ask(one, request)) {
      told.insert(figure.target);
      if (!one.is_simulated) {
        TakeMeasured(figure, request, prediction);
        continue;
      }
      const auto place = static_cast<std::size_t>(figure.target);
      if (TakeSimulated(figure, analytic[place].value, request, prediction)) {
        simulated.emplace_back(TargetName(figure.target));
      }
    }
  }
  if (told.empty()) RefuseRun(*networks_, request);
  for (const Target target : kAllTargets) {
    if (told.contains(target)) continue;
    KeepAnalytic(target, "pmgns has not learned it of such runs", prediction);
  }
  WarnOfSimulated(simulated, prediction);
}

}  // namespace foretell::learned
