#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/predictor.h"

namespace foretell::pictures {

/// What one step costs at a batch size.
struct BatchPoint {
  std::int64_t batch = 0;
  Prediction prediction;
};

/// The points of a picture and why there are no more.
struct BatchSweep {
  std::vector<BatchPoint> points;  ///< Ascending.
  std::string ended;  ///< The last error at a batch; empty without one.
};

/// Predicts at 1, 2, 4 … up to `most` and at `own`, until memory is beyond the
/// device's, which the last point shows; `predict` is asked for each. An Error
/// of it leaves that batch out, and from `own` on ends the sweep.
BatchSweep SweepBatches(const std::function<Prediction(std::int64_t)>& predict,
                        const DeviceSpec& device, std::int64_t own,
                        std::int64_t most = 4096);

/// docs/json_output.md has the fields.
nlohmann::ordered_json BatchPointsToJson(const std::vector<BatchPoint>& points,
                                         const DeviceSpec& device);

}  // namespace foretell::pictures
