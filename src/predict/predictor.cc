#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "foretell/error.h"
#include "foretell/predictor.h"
#include "src/core/statistics.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/cost/launched_step.h"
#include "src/graph/collective.h"
#include "src/graph/unfolded_convolution.h"
#include "src/predict/apply_correction.h"
#include "src/predict/correction_scope.h"
#include "src/predict/follow_power_limit.h"
#include "src/predict/learned_figures.h"
#include "src/predict/least_figures.h"
#include "src/predict/slices.h"
#include "src/predict/step_bound.h"

namespace foretell {
namespace {

/// The published latencies of convolutional networks lie within a factor of
/// two of the estimate; nothing has been fitted to them. A prior.
constexpr double kLatencyFactor = 2.0;
/// Contains 176 of 178 clean published rows of energy, none of which was fitted
/// to (docs/energy.md).
constexpr double kEnergyFactor = 2.0;

bool IsKnown(const Node& node) { return node.kind != OpKind::kOther; }

/// `part / whole`, where nothing is covered entirely.
double Share(double part, double whole) {
  return whole > 0 ? part / whole : 1.0;
}

Coverage CoverageOf(const OperatorGraph& graph, const CostEstimate& cost) {
  double operators = 0;
  double macs = 0;
  double known_macs = 0;
  double bytes = 0;
  double known_bytes = 0;
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const double node_macs = static_cast<double>(node.macs);
    const double node_bytes =
        cost.nodes[i].bytes_read + cost.nodes[i].bytes_written;
    macs += node_macs;
    bytes += node_bytes;
    if (!IsKnown(node)) {
      unknown.insert(node.target);
      continue;
    }
    operators += 1;
    known_macs += node_macs;
    known_bytes += node_bytes;
  }
  return {
      .operators = Share(operators, static_cast<double>(graph.nodes().size())),
      .macs = Share(known_macs, macs),
      .bytes = Share(known_bytes, bytes),
      .unknown_operators = {unknown.begin(), unknown.end()}};
}

void WarnOfUnknownOperators(const Prediction& prediction,
                            std::vector<std::string>& warnings) {
  const Coverage& coverage = prediction.coverage;
  if (coverage.unknown_operators.empty()) return;
  warnings.push_back(
      "operators of unknown kind, whose cost is guessed from the size of "
      "their tensors: " +
      Joined(coverage.unknown_operators));
}

void WarnOfWeakModels(const OperatorGraph& graph,
                      std::vector<std::string>& warnings) {
  const auto has = [&graph](auto predicate) {
    return std::ranges::any_of(graph.nodes(), predicate);
  };
  if (graph.nodes().empty()) {
    warnings.push_back("the graph has no operators");
  }
  if (has([](const Node& node) {
        return node.kind == OpKind::kRecurrent ||
               node.kind == OpKind::kRecurrentBackward;
      })) {
    warnings.push_back(
        "recurrent layers: cuDNN's workspace is not counted and latency is a "
        "guess per step");
  }
  if (has([&graph](const Node& node) {
        return node.macs > 0 && !node.inputs.empty() &&
               graph.value(node.inputs.front()).type.dtype == DType::kF64;
      })) {
    warnings.push_back(
        "matrix products in double precision are taken at half the FP32 rate");
  }
}

void WarnOfUnfolded(const OperatorGraph& graph, const TorchVersion& torch,
                    std::vector<std::string>& warnings) {
  const bool unfolds = std::ranges::any_of(
      graph.nodes(),
      [&](const Node& node) { return RunsUnfolded(graph, node, torch); });
  if (!unfolds) return;
  warnings.push_back(fmt::format(
      "PyTorch {} runs convolutions of three dimensions in 16 bits without "
      "cuDNN, slowly and with more memory; 2.8, 2.10 and FP32 use cuDNN",
      ToString(torch)));
}

void WarnOfMemory(const DeviceSpec& device, const Prediction& prediction,
                  std::vector<std::string>& warnings) {
  const double total_mib = ToMiB(prediction.memory.total);
  const mig::Fit fit = mig::JudgeMemory(total_mib, prediction.cache_mib,
                                        static_cast<double>(device.usable_mib));
  if (fit == mig::Fit::kFits) return;
  const bool runs = fit == mig::Fit::kFitsWithoutCache;
  warnings.push_back(fmt::format(
      "the step {} about {} MiB and {} has {}: {}", runs ? "takes" : "needs",
      static_cast<std::int64_t>(runs ? total_mib
                                     : total_mib - prediction.cache_mib),
      device.name, device.usable_mib,
      runs ? "it only fits by emptying the allocator's cache, whose time is "
             "not included"
           : "latency and energy are hypothetical"));
}

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
Figure AnalyticFigure(double value, double factor, double fast, double slow) {
  if (!(fast > 0)) return {.value = value, .interval = {value, value}};
  return {.value = value,
          .interval = {value / JointFactor(factor, value / fast),
                       value * JointFactor(factor, slow / value)}};
}

std::int64_t GpusOf(const OperatorGraph& graph) {
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> exchange = CollectiveOf(node);
    if (exchange) return exchange->gpus;
  }
  return 1;
}

void RefuseBadHost(const HostSpec& host) {
  if (host.factor > 0 && host.spread >= 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("host '{}': factor is {}, expected more than 0; "
                          "spread is {}, expected at least 1",
                          host.name, host.factor, host.spread));
}

}  // namespace

Predictor::Predictor(DeviceSpec device, const Run& run,
                     PredictorOptions options)
    : device_(std::move(device)), run_(run), options_(std::move(options)) {
  const DeviceCatalog& catalog = options_.catalog == nullptr
                                     ? DeviceCatalog::BuiltIn()
                                     : *options_.catalog;
  context_ = options_.context ? *options_.context : catalog.DefaultContext();
  options_.catalog = nullptr;
  options_.cost.run = run_;
  if (options_.correction) {
    RequireInScope(*options_.correction, device_, context_, run_, options_);
    options_.host = HostOf(*options_.correction, options_.host);
  }
  SetHost(options_.host);
}

void Predictor::SetHost(const HostSpec& host) {
  RefuseBadHost(host);
  options_.host = host;
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
          .torch = run_.torch};
}

void Predictor::SetLeast(const OperatorGraph& graph,
                         Prediction& prediction) const {
  if (!options_.with_least) return;
  const MemoryOptions options = ToMemoryOptions();
  const MemoryBreakdown& memory = prediction.memory;
  prediction.cache_mib =
      ToMiB(memory.total - LeastMemory(graph, options, memory));
}

/// What the step holds on its device, once all figures are known.
void Predictor::SetOnDevice(const OperatorGraph& graph,
                            Prediction& prediction) const {
  const double total_mib = prediction[Target::kMemory].value;
  if (mig::FitsMemory(total_mib, static_cast<double>(device_.usable_mib))) {
    prediction.on_device_mib = total_mib;
    return;
  }
  if (!options_.with_least) return;
  const std::optional<std::int64_t> held =
      MemoryWithin(graph, ToMemoryOptions(), device_.usable_mib * kMiB);
  if (held) prediction.on_device_mib = ToMiB(*held);
}

MemoryBreakdown Predictor::MemoryOf(const OperatorGraph& graph) const {
  MemoryBreakdown memory = SimulateMemory(graph, ToMemoryOptions());
  if (options_.correction) {
    MoveContext(GapOf(*options_.correction, graph).mib, memory);
  }
  return memory;
}

double Predictor::MemoryInGradMode(const Prediction& prediction,
                                   const OperatorGraph& recorded) const {
  return prediction[Target::kMemory].value +
         ToMiB(MemoryOf(recorded).total - prediction.memory.total);
}

void Predictor::SetContextSaved(std::vector<SliceRatio>& slices) const {
  for (SliceRatio& slice : slices) {
    const int sms = device_.FindMigProfile(slice.profile).sms;
    slice.context_saved_mib = context_.ContextSavedMib(device_, sms);
  }
}

void Predictor::PutAnalyticTimes(Prediction& prediction) const {
  const auto on_host = [&](double slowdown) {
    return cost::EstimateOnHost(prediction.cost, device_, options_.cost,
                                slowdown);
  };
  const CostEstimate fast = on_host(1 / options_.host.spread);
  const CostEstimate slow = on_host(options_.host.spread);
  prediction[Target::kLatency] =
      AnalyticFigure(prediction.cost.latency_ms, kLatencyFactor,
                     fast.latency_ms, slow.latency_ms);
  prediction[Target::kEnergy] = AnalyticFigure(
      prediction.cost.energy_j, kEnergyFactor, fast.energy_j, slow.energy_j);
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

Prediction Predictor::Predict(const OperatorGraph& graph) const {
  RequireTraced(graph);
  Prediction result{.device = device_.name,
                    .context = context_.name,
                    .run = RunOf(graph.info(), run_),
                    .host = options_.host};
  result.memory = MemoryOf(graph);
  SetLeast(graph, result);
  const cost::LaunchedStep step = cost::LaunchStep(graph, options_.cost);
  result.cost = cost::EstimateLaunched(step, device_, options_.cost);
  result[Target::kMemory] = {.value = ToMiB(result.memory.total),
                             .interval = {ToMiB(result.memory.total_low),
                                          ToMiB(result.memory.total_high)}};
  const SimulatedMemory simulated = {result[Target::kMemory], result.cache_mib};
  PutAnalyticTimes(result);
  result.bound = BoundOfStep(result.cost, device_, options_.cost);
  result.gpus = GpusOf(graph);
  if (options_.with_slices && result.gpus == 1) {
    result.slices = CompareSlices(step, device_, options_.cost, result.cost);
    SetContextSaved(result.slices);
  }
  result.coverage = CoverageOf(graph, result.cost);
  WarnOfUnknownOperators(result, result.warnings);
  WarnOfWeakModels(graph, result.warnings);
  WarnOfUnfolded(graph, run_.torch, result.warnings);
  WarnOfMemory(device_, result, result.warnings);
  if (learned_ && step.links.empty()) {
    const MemoryOptions memory_options = ToMemoryOptions();
    LeastFigures least(graph, step, memory_options, result.memory);
    learned_->Improve({.graph = graph,
                       .run = result.run,
                       .device = device_,
                       .context = context_,
                       .least = least,
                       .method = options_.method},
                      result);
    if (run_.power_limit_w) {
      FollowPowerLimit(step, device_, options_.cost, result);
    }
  }
  if (options_.correction) {
    ApplyCorrection(*options_.correction, graph, simulated, result);
  }
  SetOnDevice(graph, result);
  return result;
}

std::string Prediction::Method() const {
  const std::string& of_memory = (*this)[Target::kMemory].source.method;
  const std::string& of_latency = (*this)[Target::kLatency].source.method;
  const std::string& of_energy = (*this)[Target::kEnergy].source.method;
  if (of_memory == of_latency && of_latency == of_energy) return of_memory;
  return fmt::format("memory {}; latency {}; energy {}", of_memory, of_latency,
                     of_energy);
}

std::vector<std::string> Prediction::AllWarnings() const {
  std::vector<std::string> all = warnings;
  for (const Figure& figure : figures) {
    all.insert(all.end(), figure.warnings.begin(), figure.warnings.end());
  }
  return all;
}

mig::Demand ToDemand(const Prediction& prediction, std::string model) {
  const Figure& memory = prediction[Target::kMemory];
  const double latency_ms = prediction[Target::kLatency].value;
  const double energy_j = prediction[Target::kEnergy].value;
  mig::Demand demand{.model = std::move(model),
                     .total_mib = memory.value,
                     .lo_mib = memory.interval.lo,
                     .hi_mib = memory.interval.hi,
                     .cache_mib = prediction.cache_mib,
                     .latency_ms = latency_ms,
                     .energy_j = energy_j,
                     .gpus = prediction.gpus};
  for (const SliceRatio& slice : prediction.slices) {
    demand.slices.push_back({.profile = slice.profile,
                             .latency_ms = latency_ms * slice.latency,
                             .energy_j = energy_j * slice.energy,
                             .context_saved_mib = std::min(
                                 slice.context_saved_mib, memory.interval.lo)});
  }
  return demand;
}

}  // namespace foretell
