#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/fit.h"
#include "foretell/prediction.h"
#include "foretell/run.h"
#include "foretell/training_loop.h"

/// Changes that would make a step fit. The caller simulates every remedy as it
/// simulates the step itself; nothing here knows how much a remedy saves.
namespace foretell {

/// Settings of a step that remedies change.
struct StepSetup {
  Run run;
  TrainingLoop loop;
  bool expandable_segments = false;  ///< As CachingAllocatorConfig.
  /// Splits the batch into this many equal parts, run one after another;
  /// training accumulates their gradients, as in TrainingLoop::accumulation.
  std::int64_t parts = 1;
};

/// Predicts a step. If it throws Error, the remedy is reported as untried.
using SimulateStep = std::function<Prediction(const StepSetup&)>;

/// A step, the remedies to try and the limits to keep.
struct AdviceRequest {
  StepSetup setup;
  /// Samples of the step; 0: not known, the batch cannot be divided.
  std::int64_t batch = 0;
  /// Training computes statistics over the batch (batch norm), which differ
  /// when it is divided.
  bool normalizes_over_batch = false;
  /// TrainingLoop::trainable as a remedy; empty: no remedy.
  std::string trainable = {};
  LoraSpec lora = {};  ///< Likewise; the default: no remedy.
  FitLimits limits = {};
  /// Tries single changes alone: no combinations, and no recommendation.
  bool alone = false;
  /// Of the unchanged step, if it is known: it is not simulated again.
  std::optional<Prediction> unchanged = {};
};

/// A simulated step, and whether it keeps the limits.
struct SimulatedStep {
  double memory_mib = 0;  ///< Estimate, with the CUDA context.
  double needed_mib = 0;  ///< Upper end, which is compared with the limit.
  double latency_ms = 0;  ///< Of all parts of the batch.
  bool fits = false;      ///< FitVerdict::fits.
};

/// One or more changes to the step, and their effect.
struct Remedy {
  /// "activation checkpointing", "optimizer sgd", …
  std::vector<std::string> names;
  /// The step computes the same numbers, except for the order of sums. Other
  /// precisions, optimizers and trained parameters change what is learned.
  bool keeps_numerics = true;
  StepSetup setup;  ///< With the change.
  SimulatedStep step;
  double saved_mib = 0;  ///< Reduction of needed_mib; negative: it needs more.
  double time_factor = 1;  ///< Latency relative to the unchanged step.
};

/// A remedy that could not be simulated, and why.
struct UntriedRemedy {
  std::string name;
  std::string reason;
};

struct Advice {
  SimulatedStep unchanged;
  /// One change each; sorted: those that keep the numerics first, then by
  /// saving, largest first.
  std::vector<Remedy> remedies;
  /// Combinations of changes that make the step fit, the fastest first; at most
  /// three. Empty if a single change that keeps the numerics is enough.
  std::vector<Remedy> combinations;
  std::vector<UntriedRemedy> untried;
  /// The recommendation: the fewest changes that keep the numerics and make the
  /// step fit, the fastest of these; if those are not enough, the same of all
  /// changes. Single remedies are tried first, then all pairs of those that
  /// save, then more by adding what saves most until the step fits. Empty if
  /// it fits unchanged or nothing makes it fit.
  std::optional<Remedy> smallest;
};

/// Simulates the step, each remedy that could apply to it, and combinations of
/// them until one fits. Throws what `simulate` throws for the unchanged step,
/// and what JudgeFit throws.
Advice Advise(const AdviceRequest& request, const DeviceSpec& device,
              const SimulateStep& simulate);

}  // namespace foretell
