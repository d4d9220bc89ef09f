#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/predictor.h"

namespace foretell::pictures {

/// Cost of one step at a batch size.
struct BatchPoint {
  std::int64_t batch = 0;
  Prediction prediction;
};

/// The points of a chart and the reason for their end.
struct BatchSweep {
  std::vector<BatchPoint> points;  ///< Ascending.
  std::string ended;  ///< The last error at a batch; empty without one.
};

/// Predicts at 1, 2, 4 … up to `most` and at `own`, until memory exceeds the
/// device's at the last point; calls `predict` for each. An Error skips that
/// batch, and for a batch >= `own` ends the sweep.
BatchSweep SweepBatches(const std::function<Prediction(std::int64_t)>& predict,
                        const DeviceSpec& device, std::int64_t own,
                        std::int64_t most = 4096);

/// docs/json_output.md has the fields.
nlohmann::ordered_json BatchPointsToJson(const std::vector<BatchPoint>& points,
                                         const DeviceSpec& device);

}  // namespace foretell::pictures
