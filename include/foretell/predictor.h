#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/correction.h"
#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/host.h"
#include "foretell/memory.h"
#include "foretell/prediction.h"
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
  /// Whose CPU dispatches the operators; empty: host::DefaultHost of the
  /// device. Where the GPU waits for it, its spread widens the intervals of
  /// latency and energy.
  std::optional<HostSpec> host = {};
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
  /// Defined in foretell::answer, which needs no LibTorch. Errors as Make.
  static Predictor Analytic(const DeviceSpec& device, const Run& run,
                            const PredictorOptions& options = {});

  /// Throws what SimulateMemory and EstimateCost throw, and
  /// Error(kInvalidArgument) for a graph that was traced without the autocast
  /// or the channels-last format that the run states, and with Method::kPmgns
  /// for a run for which PMGNS has no figure.
  Prediction Predict(const OperatorGraph& graph) const;

  /// What a process needs that runs `passes` in a loop, instead of one step:
  /// memory is simulated of all of them; everything else is that of the pass
  /// `step` (an index), with `adds_up` latency and energy are the sums of all
  /// passes. Throws what Predict throws.
  Prediction PredictRun(const PassSequence& passes, std::size_t step,
                        bool adds_up) const;

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
  const HostSpec& host() const { return host_; }

 private:
  Predictor(DeviceSpec device, const Run& run, PredictorOptions options);
  MemoryOptions ToMemoryOptions() const;
  bool GuessesEnvironment() const;
  MemoryBreakdown MemoryOf(const PassSequence& passes) const;
  void RequireTraced(const OperatorGraph& graph) const;
  void SetHost(const HostSpec& host);
  void PutSimulatedMemory(const PassSequence& passes,
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
  /// What the step, or each of the passes, holds on its device.
  Prediction PutOnDevice(CorrectedAnswer answer) const;
  /// @}

  DeviceSpec device_;
  ContextModel context_;
  Run run_;
  PredictorOptions options_;
  HostSpec host_;  ///< Of the options, the correction or the device.
  /// Null: all figures are analytic.
  std::shared_ptr<const learned::LearnedFigures> learned_;
};

}  // namespace foretell
