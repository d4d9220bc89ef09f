#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "foretell/plan.h"
#include "src/surrogate/axis.h"

namespace foretell::plan {

/// Options for choosing runs.
struct ExploreOptions {
  std::vector<surrogate::Axis> axes;  ///< Edges that may be run.
  int runs = 12;                      ///< At most, failed ones included.
  /// Spread of the ensemble, there, at which no further run is made; share of
  /// 1.
  double wanted_spread = 0.01;
  std::uint64_t seed = 0;
  /// Called before each run with how many are done, and its shape.
  std::function<void(int, const std::vector<std::int64_t>&)> on_run = {};
};

/// Bytes that a block of a shape uses; throws Error for one that fails.
using MeasureBlock =
    std::function<std::int64_t(const std::vector<std::int64_t>&)>;

/// A footprint's axes, terms, errors, runs and failed runs, from few runs: the
/// smallest block, the largest and one between; then repeatedly the one of many
/// drawn blocks for which, at four times the length, the models fitted so far
/// disagree most. A block that fails is recorded in `failed`, and not tried
/// again.
///
/// Throws Error(kInvalidArgument) for fewer runs than four, and the error of
/// the first failed run if fewer than four remain to fit.
Footprint ExploreFootprint(const ExploreOptions& options,
                           const MeasureBlock& measure);

}  // namespace foretell::plan
