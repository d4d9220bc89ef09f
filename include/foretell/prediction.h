#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/cost.h"
#include "foretell/figure.h"
#include "foretell/host.h"
#include "foretell/memory.h"
#include "foretell/mig.h"
#include "foretell/run.h"

// What a Predictor (foretell/predictor.h) predicts of a graph.

namespace foretell {

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

/// Time and energy of one of several passes.
struct PassFigures {
  double latency_ms = 0;
  double energy_j = 0;
};

/// One GPU of a pipeline.
struct StageFigures {
  std::string blocks;          ///< As PipelineGpu.
  std::int64_t in_flight = 0;  ///< As PipelineGpu.
  double memory_mib = 0;       ///< By simulation.
  double busy_ms = 0;          ///< Without waiting for other GPUs.
};

/// What one step of a network needs on a whole device, or a process that runs
/// several passes (Predictor::PredictRun).
struct Prediction {
  std::string device;   ///< DeviceSpec::name.
  std::string context;  ///< ContextModel::name.
  Run run;              ///< As the predictor's, with what the graph states.
  HostSpec host;        ///< As the predictor's.
  /// Whether `host` is what a GPU of its generation is expected to have, and
  /// neither named nor fitted.
  bool has_default_host = false;
  /// Whether `context` is the catalogue's default, and neither named nor
  /// fitted.
  bool has_guessed_context = false;
  std::int64_t gpus = 1;  ///< GPUs that share the step, by its exchanges.

  std::array<Figure, kNumTargets> figures;  ///< In the order of Target.
  const Figure& operator[](Target target) const {
    return figures[static_cast<std::size_t>(target)];
  }
  Figure& operator[](Target target) {
    return figures[static_cast<std::size_t>(target)];
  }
  /// One per pass, as memory.passes; empty unless there are several.
  std::vector<PassFigures> passes = {};
  /// All GPUs of a pipeline; empty: none.
  std::vector<StageFigures> stages = {};
  std::size_t stage = 0;  ///< The one in `stages` that figures are of.
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

/// The prediction as mig::Recommend accepts it, the slices' figures at their
/// ratios to the device's; `model` names it in reports.
mig::Demand ToDemand(const Prediction& prediction, std::string model = {});

}  // namespace foretell
