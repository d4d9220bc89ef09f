#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/fit.h"
#include "foretell/predictor.h"
#include "foretell/run.h"
#include "foretell/training_loop.h"

/// Changes that would make a step fit. The caller simulates every remedy as it
/// simulates the step itself; nothing here knows how much a remedy saves.
namespace foretell {

/// How a step runs: what remedies change.
struct StepSetup {
  Run run;
  TrainingLoop loop;
  bool expandable_segments = false;  ///< As CachingAllocatorConfig.
  /// The batch is run in this many parts of equal size, one after another; in
  /// training their gradients are added up, as TrainingLoop::accumulation also
  /// states.
  std::int64_t parts = 1;
};

/// Predicts a step. If it throws Error, the remedy counts as one that cannot be
/// simulated.
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
  LoraSpec lora = {};  ///< Likewise; rank 0: no remedy.
  FitLimits limits = {};
};

/// A step as it was simulated, and whether it keeps the limits.
struct SimulatedStep {
  double memory_mib = 0;  ///< Estimate, with the context of the place.
  double needed_mib = 0;  ///< Upper end, which decides.
  double latency_ms = 0;  ///< Of all parts of the batch.
  bool fits = false;      ///< FitVerdict::fits.
};

/// A change of the step, or several, and what came of it.
struct Remedy {
  /// "activation checkpointing", "optimizer sgd", …
  std::vector<std::string> names;
  /// The step computes the same numbers, except for the order of sums. Other
  /// precisions, optimizers and trained parameters change what is learned.
  bool keeps_numerics = true;
  StepSetup setup;  ///< With the change.
  SimulatedStep step;
  double saved_mib = 0;    ///< Of needed_mib; negative: it needs more.
  double time_factor = 1;  ///< Latency by that of the unchanged step.
};

/// A remedy that could not be simulated, and why.
struct UntriedRemedy {
  std::string name;
  std::string reason;
};

struct Advice {
  SimulatedStep unchanged;
  /// One change each: those that keep the numerics first, and within either
  /// kind the largest saving first.
  std::vector<Remedy> remedies;
  /// Several changes that together make the step fit, the fastest first; at
  /// most three. Empty if a single one that keeps the numerics is enough.
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
