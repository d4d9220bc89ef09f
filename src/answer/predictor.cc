#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "foretell/error.h"
#include "foretell/predictor.h"
#include "src/answer/caveats.h"
#include "src/answer/follow_power_limit.h"
#include "src/answer/interval_width.h"
#include "src/answer/learned_figures.h"
#include "src/answer/least_figures.h"
#include "src/answer/pipeline_figures.h"
#include "src/answer/slices.h"
#include "src/answer/step_bound.h"
#include "src/answer/sum_of_passes.h"
#include "src/core/statistics.h"
#include "src/core/units.h"
#include "src/correct/apply_correction.h"
#include "src/correct/correction_scope.h"
#include "src/cost/launched_step.h"
#include "src/graph/collective.h"
#include "src/host/published_hosts.h"

namespace foretell {
namespace {

/// Adds a constant to the context; no context is smaller than nothing.
void MoveContext(double mib, MemoryBreakdown& memory) {
  const auto bytes =
      std::max(-memory.context,
               static_cast<std::int64_t>(mib * static_cast<double>(kMiB)));
  for (std::int64_t* part : {&memory.context, &memory.total, &memory.total_low,
                             &memory.total_high}) {
    *part += bytes;
  }
}

/// `fast` and `slow` are of the fastest and the slowest possible host; only the
/// host differs between the three.
Figure AnalyticFigure(double value, const WidthFactors& factors, double fast,
                      double slow) {
  if (!(fast > 0)) return {.value = value, .interval = {value, value}};
  return {.value = value,
          .interval = {value / JointFactor(factors.below, value / fast),
                       value * JointFactor(factors.above, slow / value)}};
}

void RefuseBadHost(const HostSpec& host) {
  if (host.factor > 0 && host.spread >= 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("host '{}': factor is {}, expected more than 0; "
                          "spread is {}, expected at least 1",
                          host.name, host.factor, host.spread));
}

}  // namespace

/// By simulation and arithmetic alone.
struct Predictor::AnalyticAnswer {
  const OperatorGraph& graph;
  cost::LaunchedStep step;
  Prediction prediction;
};

/// With the figures of trained networks, and the memory without them.
struct Predictor::LearnedAnswer {
  const OperatorGraph& graph;
  SimulatedMemory simulated;
  Prediction prediction;
};

/// With all figures final.
struct Predictor::CorrectedAnswer {
  PassSequence passes;
  Prediction prediction;
};

Predictor::Predictor(DeviceSpec device, const Run& run,
                     PredictorOptions options)
    : device_(std::move(device)), run_(run), options_(std::move(options)) {
  const DeviceCatalog& catalog = options_.catalog == nullptr
                                     ? DeviceCatalog::BuiltIn()
                                     : *options_.catalog;
  context_ = options_.context ? *options_.context : catalog.DefaultContext();
  options_.catalog = nullptr;
  options_.cost.run = run_;
  HostSpec host = options_.host.value_or(host::DefaultHost(device_, run_));
  if (options_.correction) {
    RequireInScope(*options_.correction, device_, context_, run_, host,
                   options_.allocator);
    host = HostOf(*options_.correction, host);
  }
  SetHost(host);
}

void Predictor::SetHost(const HostSpec& host) {
  RefuseBadHost(host);
  host_ = host;
  options_.cost.host_factor = host.factor;
}

Predictor Predictor::OnHost(const HostSpec& host) const {
  Predictor other = *this;
  other.SetHost(host);
  return other;
}

Predictor Predictor::Analytic(const DeviceSpec& device, const Run& run,
                              const PredictorOptions& options) {
  Predictor predictor(device, run, options);
  EstimateCost(GraphBuilder(GraphInfo{}).Build(), device,
               predictor.options_.cost);
  return predictor;
}

MemoryOptions Predictor::ToMemoryOptions() const {
  return {.device = device_,
          .context = context_,
          .with_workspaces = options_.with_workspaces,
          .allocator = options_.allocator,
          .torch = run_.torch,
          .guessed_environment = GuessesEnvironment()};
}

bool Predictor::GuessesEnvironment() const {
  return !options_.context && !options_.correction;
}

MemoryBreakdown Predictor::MemoryOf(const PassSequence& passes) const {
  MemoryBreakdown memory = SimulateMemory(passes, ToMemoryOptions());
  if (options_.correction) {
    const OperatorGraph& graph = *passes.list[memory.peak_pass].graph;
    MoveContext(GapOf(*options_.correction, graph).mib, memory);
  }
  return memory;
}

void Predictor::PutSimulatedMemory(const PassSequence& passes,
                                   Prediction& prediction) const {
  prediction.memory = MemoryOf(passes);
  const MemoryBreakdown& memory = prediction.memory;
  prediction[Target::kMemory] = {
      .value = ToMiB(memory.total),
      .interval = {ToMiB(memory.total_low), ToMiB(memory.total_high)}};
  if (!options_.with_least) return;
  prediction.cache_mib =
      ToMiB(memory.total - LeastMemory(passes, ToMemoryOptions(), memory));
}

double Predictor::MemoryInGradMode(const Prediction& prediction,
                                   const OperatorGraph& recorded) const {
  return prediction[Target::kMemory].value +
         ToMiB(MemoryOf(recorded).total - prediction.memory.total);
}

std::vector<SliceRatio> Predictor::SlicesOf(const cost::LaunchedStep& step,
                                            const CostEstimate& whole) const {
  std::vector<SliceRatio> slices =
      CompareSlices(step, device_, options_.cost, whole);
  for (SliceRatio& slice : slices) {
    const int sms = device_.FindMigProfile(slice.profile).sms;
    slice.context_saved_mib = context_.ContextSavedMib(device_, sms);
  }
  return slices;
}

void Predictor::PutAnalyticTimes(Prediction& prediction) const {
  const auto on_host = [&](double slowdown) {
    return cost::EstimateOnHost(prediction.cost, device_, options_.cost,
                                slowdown);
  };
  const CostEstimate fast = on_host(1 / host_.spread);
  const CostEstimate slow = on_host(host_.spread);
  prediction[Target::kLatency] = AnalyticFigure(
      prediction.cost.latency_ms, ModelFactors(prediction, Target::kLatency),
      fast.latency_ms, slow.latency_ms);
  prediction[Target::kEnergy] = AnalyticFigure(
      prediction.cost.energy_j, ModelFactors(prediction, Target::kEnergy),
      fast.energy_j, slow.energy_j);
}

void Predictor::RequireTraced(const OperatorGraph& graph) const {
  const GraphInfo& info = graph.info();
  const auto require = [&info](bool traced, std::string_view run,
                               std::string_view option) {
    if (traced) return;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the run is {}, graph '{}' was traced without: set "
                            "TraceOptions::run.{} as well",
                            run, info.name, option));
  };
  require(!run_.autocast || info.autocast, "under autocast", "autocast");
  require(!run_.channels_last || info.channels_last, "channels-last",
          "channels_last");
}

Predictor::AnalyticAnswer Predictor::AnswerAnalytically(
    const OperatorGraph& graph) const {
  RequireTraced(graph);
  RequireRuns(graph, device_);
  AnalyticAnswer answer{
      .graph = graph,
      .step = cost::LaunchStep(graph, options_.cost),
      .prediction = {
          .device = device_.name,
          .context = context_.name,
          .run = RunOf(graph.info(), run_),
          .host = host_,
          .has_default_host = host_ == host::DefaultHost(device_, run_),
          .has_guessed_context = GuessesEnvironment(),
          .gpus = GpusOf(GroupsOf(graph))}};
  Prediction& prediction = answer.prediction;
  PutSimulatedMemory(graph, prediction);
  prediction.cost = EstimateLaunched(answer.step, device_, options_.cost);
  PutAnalyticTimes(prediction);
  prediction.bound = BoundOfStep(prediction.cost, device_, options_.cost);
  if (options_.with_slices && prediction.gpus == 1) {
    prediction.slices = SlicesOf(answer.step, prediction.cost);
  }
  PutPipeline(
      graph, device_, options_.cost,
      [this](const OperatorGraph& other) { return MemoryOf(other); },
      prediction);
  prediction.coverage = CoverageOf(graph, prediction.cost);
  prediction.warnings = CaveatsOf(graph, run_.torch, device_, prediction);
  return answer;
}

Predictor::LearnedAnswer Predictor::Learn(AnalyticAnswer answer) const {
  Prediction& prediction = answer.prediction;
  const SimulatedMemory simulated = {prediction[Target::kMemory],
                                     prediction.cache_mib};
  if (learned_ && answer.step.links.empty()) {
    const MemoryOptions memory_options = ToMemoryOptions();
    LeastFigures least(answer.graph, answer.step, memory_options,
                       prediction.memory);
    learned_->Improve({.graph = answer.graph,
                       .run = prediction.run,
                       .device = device_,
                       .context = context_,
                       .least = least,
                       .method = options_.method},
                      prediction);
    if (run_.power_limit_w) {
      FollowPowerLimit(answer.step, device_, options_.cost, prediction);
    }
  }
  return {answer.graph, simulated, std::move(prediction)};
}

Predictor::CorrectedAnswer Predictor::Correct(LearnedAnswer answer) const {
  if (options_.correction) {
    ApplyCorrection(*options_.correction, answer.graph, answer.simulated,
                    answer.prediction);
  }
  return {answer.graph, std::move(answer.prediction)};
}

Prediction Predictor::PutOnDevice(CorrectedAnswer answer) const {
  Prediction& prediction = answer.prediction;
  const double total_mib = prediction[Target::kMemory].value;
  if (mig::FitsMemory(total_mib, static_cast<double>(device_.usable_mib))) {
    prediction.on_device_mib = total_mib;
  } else if (options_.with_least) {
    const std::optional<std::int64_t> held = MemoryWithin(
        answer.passes, ToMemoryOptions(), device_.usable_mib * kMiB);
    if (held) prediction.on_device_mib = ToMiB(*held);
  }
  return std::move(prediction);
}

Prediction Predictor::Predict(const OperatorGraph& graph) const {
  return PutOnDevice(Correct(Learn(AnswerAnalytically(graph))));
}

Prediction Predictor::PredictRun(const PassSequence& passes, std::size_t step,
                                 bool adds_up) const {
  Predictor of_each = *this;
  of_each.options_.with_least = false;
  std::map<const OperatorGraph*, Prediction> alone;
  for (const RunPass& pass : passes.list) {
    if (alone.contains(pass.graph)) continue;
    alone.emplace(pass.graph, of_each.Predict(*pass.graph));
  }
  Prediction run = alone.at(passes.list.at(step).graph);
  for (std::size_t i = 0; i < passes.list.size(); ++i) {
    const Prediction& pass = alone.at(passes.list[i].graph);
    run.passes.push_back(
        {pass[Target::kLatency].value, pass[Target::kEnergy].value});
    if (adds_up && i != step) AddTimes(pass, run);
  }
  const MemoryBreakdown of_step = std::move(run.memory);
  Figure memory = std::move(run[Target::kMemory]);
  PutSimulatedMemory(passes, run);
  memory.value += ToMiB(run.memory.total - of_step.total);
  memory.interval.lo += ToMiB(run.memory.total_low - of_step.total_low);
  memory.interval.hi += ToMiB(run.memory.total_high - of_step.total_high);
  run[Target::kMemory] = std::move(memory);
  run.on_device_mib.reset();
  return PutOnDevice({passes, std::move(run)});
}

}  // namespace foretell
