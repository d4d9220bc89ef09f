#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "foretell/graph.h"

namespace foretell::snapshot {

/// A storage that is alive at the predicted peak.
struct PredictedTensor {
  std::int64_t bytes = 0;
  TensorRole role = TensorRole::kActivation;
  std::string label;
  std::string module;
  std::string type;  ///< Of its first tensor, as text; may be empty.
};

/// What a document of pictures::StepToJson says about the peak of memory.
struct PredictedStep {
  std::vector<PredictedTensor> tensors;  ///< In the order of birth.
  std::string peak_operator;
  std::string peak_phase;
  double reserved_at_peak_mib = 0;
  /// The most allocated during a phase, in MiB, by Phase; 0 without one.
  std::array<double, 3> peak_by_phase = {};
};

/// Reads "memory_over_step" of `document`, which `origin` names. Throws
/// Error(kCorrupt) that names the field if one is missing or does not fit the
/// others.
PredictedStep ReadPredictedStep(const nlohmann::ordered_json& document,
                                const std::string& origin);

}  // namespace foretell::snapshot
