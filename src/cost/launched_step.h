#pragma once

#include <optional>
#include <vector>

#include "foretell/cost.h"
#include "src/cost/dispatch.h"
#include "src/cost/engine_factor.h"
#include "src/cost/link.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// The device-independent part of a step: computed once, estimated on a device
/// and each of its slices.
struct LaunchedStep {
  std::vector<Kernel> kernels;              ///< ExpandKernels: node after node.
  std::vector<NodeDispatch> dispatch;       ///< By node.
  std::vector<LinkUse> links;               ///< By node; empty: one GPU.
  std::optional<EngineTraits> engine = {};  ///< EngineTraitsOf.
  std::vector<bool> in_engine = {};         ///< NodesWithEngineFactor.
};

/// Reads the run and the host factor of `options`; errors as ExpandKernels.
LaunchedStep LaunchStep(const OperatorGraph& graph, const CostOptions& options);

/// Times of the step on the machine that `device` and `options` describe.
/// Errors as EstimateCost.
CostEstimate EstimateLaunched(const LaunchedStep& step,
                              const DeviceSpec& device,
                              const CostOptions& options);

/// The same at the full clock, ignoring the power limit.
CostEstimate EstimateAtFullClock(const LaunchedStep& step,
                                 const DeviceSpec& device,
                                 const CostOptions& options);

/// `estimate`, made on the same machine, for a host that needs `slowdown` times
/// as long to dispatch each operator; kernel times are unchanged.
CostEstimate EstimateOnHost(const CostEstimate& estimate,
                            const DeviceSpec& device,
                            const CostOptions& options, double slowdown);

}  // namespace foretell::cost
