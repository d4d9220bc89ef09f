#pragma once

#include <string>
#include <vector>

#include "foretell/prediction.h"

namespace foretell {

/// How much of `graph` is known; `cost` is its estimate.
Coverage CoverageOf(const OperatorGraph& graph, const CostEstimate& cost);

/// Prediction::warnings: what makes an analytic `prediction` of `graph` on
/// `device` doubtful. Requires its coverage and simulated memory.
std::vector<std::string> CaveatsOf(const OperatorGraph& graph,
                                   const TorchVersion& torch,
                                   const DeviceSpec& device,
                                   const Prediction& prediction);

/// Throws Error(kUnsupported) that names `device` if `graph` multiplies floats
/// of 8 bits, which `_scaled_mm` of PyTorch refuses before Ada.
void RequireRuns(const OperatorGraph& graph, const DeviceSpec& device);

}  // namespace foretell
