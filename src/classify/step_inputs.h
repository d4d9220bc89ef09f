#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "foretell/memory.h"
#include "src/classify/layers.h"

namespace foretell::classify {

/// The simulated memory of a step, in MiB.
struct SimulatedMemory {
  double total_mib = 0;      ///< MemoryBreakdown::total.
  double allocated_mib = 0;  ///< MemoryBreakdown::allocated_peak.
  double workspace_mib = 0;  ///< Part of it that is scratch of libraries.
  /// Most that tensors alone use at once: allocated without workspaces and
  /// rounding, as tools count it that do not know the allocator.
  double tensors_mib = 0;
  /// MemoryWithin the whole device; empty: the step does not fit.
  std::optional<double> held_mib;

  bool operator==(const SimulatedMemory&) const = default;
};

/// What estimators of memory classes see of a training step.
struct StepInputs {
  std::int64_t batch = 1;
  std::int64_t parameters = 0;
  std::int64_t activations = 0;  ///< Per sample, summed over the layers.
  ActivationFunction activation = ActivationFunction::kIdentity;
  std::vector<Layer> layers;
  SimulatedMemory simulated;

  std::int64_t Count(LayerKind kind) const;
  bool operator==(const StepInputs&) const = default;
};

/// Reads them from a graph; the device is that of `options`. With `earlier`,
/// the same network over other samples, total_mib and held_mib are of a process
/// that ran such a forward pass before (memory::SimulateAfterPass). Throws what
/// SimulateMemory throws.
StepInputs StepInputsOf(const OperatorGraph& graph,
                        const MemoryOptions& options,
                        const OperatorGraph* earlier = nullptr);

/// A step whose memory was measured.
struct LabelledStep {
  std::string name;  ///< Of the network; for messages.
  std::string set;   ///< Of the rows, as their table calls it.
  StepInputs inputs;
  std::optional<double> memory_mib;  ///< Empty: it was out of memory.

  bool operator==(const LabelledStep&) const = default;
};

nlohmann::ordered_json StepInputsToJson(const StepInputs& inputs);
nlohmann::ordered_json LabelledStepToJson(const LabelledStep& step);
/// Throws Error(kCorrupt) that names `origin` and the field.
LabelledStep LabelledStepFromJson(const nlohmann::json& json,
                                  const std::string& origin);
/// Reads a file with such an object on every line. Throws Error: kNotFound,
/// kIo, and kCorrupt that names path and line, also for a file without any.
std::vector<LabelledStep> ReadLabelledSteps(const std::string& path);

}  // namespace foretell::classify
