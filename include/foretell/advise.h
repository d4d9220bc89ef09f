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

/// What would make a step fit. Every remedy is simulated as the step itself is,
/// by the caller; nothing here knows how much one saves.
namespace foretell {

/// How a step runs: what remedies change.
struct StepSetup {
  Run run;
  TrainingLoop loop;
  bool expandable_segments = false;  ///< As CachingAllocatorConfig.
  /// The batch comes in so many parts of equal size, one after another; in
  /// training their gradients are added up, which TrainingLoop::accumulation
  /// says too.
  std::int64_t parts = 1;
};

/// The prediction of a step. What it throws as Error is a remedy that cannot be
/// simulated.
using SimulateStep = std::function<Prediction(const StepSetup&)>;

/// What is asked.
struct AdviceRequest {
  StepSetup setup;
  /// Samples of the step; 0: not known, the batch cannot be divided.
  std::int64_t batch = 0;
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
  /// The step computes the same numbers, but for the order of sums. Other
  /// precisions, optimizers and trained parameters change what is learned.
  bool keeps_numerics = true;
  StepSetup setup;  ///< With the change.
  SimulatedStep step;
  double saved_mib = 0;    ///< Of needed_mib; negative: it takes more.
  double time_factor = 1;  ///< Latency by that of the unchanged step.
};

/// A remedy that could not be simulated, and why.
struct UntriedRemedy {
  std::string name;
  std::string reason;
};

struct Advice {
  SimulatedStep unchanged;
  /// One change each: those that keep the numerics first, and of both kinds
  /// what saves most first.
  std::vector<Remedy> remedies;
  /// Of several changes, those that make the step fit, the fastest first; at
  /// most three. Empty where a single one that keeps the numerics does.
  std::vector<Remedy> combinations;
  std::vector<UntriedRemedy> untried;
  /// What is recommended: of the changes that keep the numerics the fewest that
  /// make the step fit, the fastest of these; where those are not enough, of
  /// all changes. Single remedies are tried first, then all pairs of those that
  /// save, then more by taking what saves most until the step fits. Empty where
  /// it fits unchanged or none do.
  std::optional<Remedy> smallest;
};

/// Simulates the step, each remedy that could apply to it, and combinations of
/// them until one fits. Throws what `simulate` throws for the unchanged step,
/// and what JudgeFit throws.
Advice Advise(const AdviceRequest& request, const DeviceSpec& device,
              const SimulateStep& simulate);

}  // namespace foretell
