#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/correction.h"
#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/figure.h"
#include "foretell/graph.h"
#include "foretell/host.h"
#include "foretell/memory.h"
#include "foretell/mig.h"
#include "foretell/run.h"

// A network needs memory, time and energy: a Predictor, made for a device and a
// way to run networks on it, predicts all three of a graph. A Session
// (foretell/session.h) makes the graph of a model file, and asks a Predictor.

namespace foretell {

namespace cost {
struct LaunchedStep;
}  // namespace cost
namespace learned {
class LearnedFigures;
}  // namespace learned

/// How much of a graph the predictor knows, as shares from 0 to 1. An empty
/// graph is covered entirely.
struct Coverage {
  double operators = 1;  ///< Share of the operators.
  double macs = 1;       ///< Share of the multiply-accumulates.
  double bytes = 1;      ///< Share of the bytes that operators move.
  /// ATen names of operators of unknown kind, sorted, each once.
  std::vector<std::string> unknown_operators;
};

/// How a step on a MIG profile compares with one on the whole device, both by
/// the analytic model: a figure that was learned for the device is scaled by
/// the same ratio, and one of memory loses the same part of the context.
struct SliceRatio {
  std::string profile;  ///< MigProfile::name.
  double latency = 1;
  double energy = 1;             ///< Drawn by the slice's share of the board.
  double context_saved_mib = 0;  ///< ContextModel::ContextSavedMib.
};

/// What a step waits for.
enum class StepBound : std::uint8_t {
  kGpu,   ///< Neither of the others.
  kHost,  ///< A host of half the speed makes it more than half as long again.
  kLink,  ///< Exchanges between GPUs make it more than half as long again.
};
std::string_view StepBoundName(StepBound bound);  ///< "gpu", "host", "link".

/// What one step of a network needs on a whole device.
struct Prediction {
  std::string device;     ///< DeviceSpec::name.
  std::string context;    ///< ContextModel::name.
  Run run;                ///< As the predictor's, with what the graph states.
  HostSpec host;          ///< As the predictor's.
  std::int64_t gpus = 1;  ///< GPUs that share the step, by its exchanges.

  std::array<Figure, kNumTargets> figures;  ///< In the order of Target.
  const Figure& operator[](Target target) const {
    return figures[static_cast<std::size_t>(target)];
  }
  Figure& operator[](Target target) {
    return figures[static_cast<std::size_t>(target)];
  }
  /// One per MIG profile of the device; empty for a step that GPUs share.
  std::vector<SliceRatio> slices;

  /// What the simulated memory consists of, in bytes. A memory figure that was
  /// learned differs from its total.
  MemoryBreakdown memory;
  /// Part of the memory figure that is cache: what the step runs without when
  /// the allocator has to give segments back, by simulation. 0 if
  /// PredictorOptions::with_least is off.
  double cache_mib = 0;
  /// The least memory with which the step runs, in MiB: LeastMemory.
  double LeastMib() const { return (*this)[Target::kMemory].value - cache_mib; }
  /// The memory figure if the device can hold it; else what the step holds, by
  /// simulation, when cached segments are given back; empty if that does not
  /// help.
  std::optional<double> on_device_mib = {};
  /// Per operator, and how the latency divides; the totals and their parts are
  /// scaled in proportion to a learned latency figure, and so is energy.
  CostEstimate cost;
  StepBound bound = StepBound::kGpu;  ///< By the analytic model.
  Coverage coverage;
  /// Caveats for the user that are not about a single figure.
  std::vector<std::string> warnings;

  /// These warnings, then those of the figures.
  std::vector<std::string> AllWarnings() const;
  /// The figures' methods in one line, once where they are the same.
  std::string Method() const;
};

/// Which figures come from trained networks.
enum class Method {
  kAuto,      ///< Those that measurements support: docs/learned.md.
  kAnalytic,  ///< None.
  kLearned,   ///< All that a network can predict for such a run.
  kPmgns,     ///< All that PMGNS, the DIPPM paper's network, predicts.
};
std::string_view MethodName(Method method);  ///< "auto", "analytic", ….
std::optional<Method> ParseMethod(std::string_view name);

/// Settings of a Predictor.
struct PredictorOptions {
  Method method = Method::kAuto;
  /// Files of the user's own networks, as `foretell train` makes them. Their
  /// predictions are used as is; all other figures are analytic, whatever the
  /// method.
  std::vector<std::string> checkpoints = {};
  /// Size of the CUDA context; empty: the catalogue's default, today's.
  std::optional<ContextModel> context = {};
  /// Has the context models that checkpoints name; null: the built-in one. It
  /// is only read while the predictor is made.
  const DeviceCatalog* catalog = nullptr;
  bool with_workspaces = true;            ///< As MemoryOptions.
  CachingAllocatorConfig allocator = {};  ///< As MemoryOptions.
  /// Settings of the cost model; run and host factor are the predictor's.
  CostOptions cost = {};
  /// Whose CPU dispatches the operators. Where the GPU waits for it, its spread
  /// widens the intervals of latency and energy.
  HostSpec host = {};
  /// Predicts MIG profiles too, each an estimate of its own.
  bool with_slices = true;
  /// Finds the step's least memory: costs about a dozen memory simulations.
  bool with_least = true;
  /// Corrects the figures by runs measured on one machine. With one of one
  /// model the memory is analytic, and Predict refuses graphs of other models.
  std::optional<Correction> correction = {};
};

/// Predicts what a graph needs on one device. A value; safe to use from
/// several threads.
class Predictor {
 public:
  /// Makes a predictor for every method: allocator simulation, rooflines and a
  /// power model, and, as the method states, trained networks instead of them:
  /// those that the library carries or those of `options.checkpoints`. Mode,
  /// precision, optimizer and grad mode of each graph override those of
  /// `run`.
  ///
  /// Throws Error: kInvalidArgument for a device that EstimateCost would
  /// refuse, for a host with a factor or spread outside its range, for a
  /// correction of another device, run or host, for two
  /// checkpoints of one figure and for one that corrects a prior other than the
  /// analytic one; kNotFound, kCorrupt or kUnsupported for checkpoints that
  /// cannot be read and for context models that they name.
  ///
  /// Defined in the target foretell::predictor, which needs LibTorch.
  static Predictor Make(const DeviceSpec& device, const Run& run,
                        const PredictorOptions& options = {});

  /// The analytic figures alone, with constants from published measurements but
  /// not fitted to any whole network; method and checkpoints are not read.
  /// Defined in foretell::learned, which needs no LibTorch. Errors as Make.
  static Predictor Analytic(const DeviceSpec& device, const Run& run,
                            const PredictorOptions& options = {});

  /// Throws what SimulateMemory and EstimateCost throw, and
  /// Error(kInvalidArgument) for a graph that was traced without the autocast
  /// or the channels-last format that the run states, and with Method::kPmgns
  /// for a run for which PMGNS has no figure.
  Prediction Predict(const OperatorGraph& graph) const;

  /// The same predictor on another host, which overrides that of its options
  /// or correction. Cheap: both share what was learned. Throws
  /// Error(kInvalidArgument) for a factor or spread outside its range.
  Predictor OnHost(const HostSpec& host) const;

  /// The memory of `prediction` in MiB if its step were that of `recorded`: the
  /// same one, traced in grad mode. The difference is simulated. Throws what
  /// SimulateMemory throws.
  double MemoryInGradMode(const Prediction& prediction,
                          const OperatorGraph& recorded) const;

  const DeviceSpec& device() const { return device_; }
  const ContextModel& context() const { return context_; }
  const Run& run() const { return run_; }
  const HostSpec& host() const { return options_.host; }

 private:
  Predictor(DeviceSpec device, const Run& run, PredictorOptions options);
  MemoryOptions ToMemoryOptions() const;
  MemoryBreakdown MemoryOf(const OperatorGraph& graph) const;
  void RequireTraced(const OperatorGraph& graph) const;
  void SetHost(const HostSpec& host);
  void PutSimulatedMemory(const OperatorGraph& graph,
                          Prediction& prediction) const;
  /// Latency and energy of prediction.cost, with their intervals.
  void PutAnalyticTimes(Prediction& prediction) const;
  std::vector<SliceRatio> SlicesOf(const cost::LaunchedStep& step,
                                   const CostEstimate& whole) const;
  /// @name The stages of an answer; each requires the one before it.
  /// @{
  struct AnalyticAnswer;
  struct LearnedAnswer;
  struct CorrectedAnswer;
  AnalyticAnswer AnswerAnalytically(const OperatorGraph& graph) const;
  LearnedAnswer Learn(AnalyticAnswer answer) const;
  CorrectedAnswer Correct(LearnedAnswer answer) const;
  /// What the step holds on its device.
  Prediction PutOnDevice(CorrectedAnswer answer) const;
  /// @}

  DeviceSpec device_;
  ContextModel context_;
  Run run_;
  PredictorOptions options_;
  /// Null: all figures are analytic.
  std::shared_ptr<const learned::LearnedFigures> learned_;
};

/// The prediction as mig::Recommend accepts it, the slices' figures at their
/// ratios to the device's; `model` names it in reports.
mig::Demand ToDemand(const Prediction& prediction, std::string model = {});

}  // namespace foretell
