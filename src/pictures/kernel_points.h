#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/predictor.h"
#include "src/kernels/kernels.h"

namespace foretell::pictures {

/// Launches of one kernel, all of the same work.
struct KernelPoint {
  cost::Kernel kernel;  ///< Its node is the first that launches it.
  double count = 0;
  /// Of one launch. Two for each multiply-accumulate; a kernel without any is
  /// assumed to compute one per element of its result.
  double operations = 0;
  double bytes = 0;  ///< To and from device memory, of one launch.
  double us = 0;     ///< Time of one launch; see NodeCost::gpu_us.
};

/// The kernels of the step that `prediction` is of, by their total time in
/// descending order. Errors as EstimateCost.
std::vector<KernelPoint> KernelPoints(const OperatorGraph& graph,
                                      const DeviceSpec& device,
                                      const Prediction& prediction);

/// The first `most` with the modules of their operators, and the rest in sum;
/// docs/json_output.md has the fields. `modules` is ModulesOfNodes.
nlohmann::ordered_json KernelsToJson(const OperatorGraph& graph,
                                     const std::vector<KernelPoint>& points,
                                     const std::vector<std::string>& modules,
                                     std::size_t most = 1000);

}  // namespace foretell::pictures
