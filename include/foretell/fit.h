#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/device.h"
#include "foretell/error.h"
#include "foretell/mig.h"
#include "foretell/prediction.h"

/// Whether a step keeps its limits, and how large a batch may be to do so.
/// JudgeFit alone decides this, so it accepts the batch that LargestBatch
/// returns.
namespace foretell {

/// Limits of a step. An infinite limit is not checked.
struct FitLimits {
  /// MIG profile that must hold it; empty: the device without MIG must.
  std::string profile;
  double max_memory_mib = std::numeric_limits<double>::infinity();
  double max_latency_ms = std::numeric_limits<double>::infinity();
  double max_energy_j = std::numeric_limits<double>::infinity();
  /// Judges latency and energy by the upper ends of their intervals.
  bool strict = false;
  /// Accepts a step that fits only after the allocator releases cached
  /// segments.
  bool tight = false;
  /// Judges memory by its estimate instead of the upper end.
  bool by_estimate = false;
};

/// A figure and its limit, both in `unit`.
struct FitCheck {
  /// "memory at most", "memory" by its estimate, "latency", "energy".
  std::string_view what;
  double value = 0;
  double least = 0;  ///< Memory without the cache; else the value.
  double limit = 0;
  std::string_view unit;  ///< "MiB", "ms", "J".
  mig::Fit fit = mig::Fit::kDoesNotFit;
  bool within =
      false;  ///< value <= limit; if FitLimits::tight, least <= limit.
};

/// What JudgeFit found.
struct FitVerdict {
  bool fits = false;  ///< Every check is within its limit.
  /// The worst of the checks', whether or not a tight fit is accepted.
  mig::Fit fit = mig::Fit::kDoesNotFit;
  /// Usable memory first, then the limits; a memory limit below the usable
  /// memory replaces that check.
  std::vector<FitCheck> checks;
};

/// Judges a prediction for `device`: the upper end of its memory (its estimate
/// if by_estimate), without the cache if needed to fit, against the usable
/// memory and against max_memory_mib; latency and energy (on limits.profile, if
/// one is named) against their limits by their estimates, or by their upper
/// ends if strict.
///
/// Throws what mig::Judge throws; Error(kNotFound) for an unknown profile and
/// Error(kInvalidArgument) for a limit that is not above 0.
FitVerdict JudgeFit(const Prediction& prediction, const DeviceSpec& device,
                    const FitLimits& limits = {});

/// Batches to search, both included.
struct BatchRange {
  std::int64_t least = 1;
  std::int64_t most = 1;
};

/// What LargestBatch found.
struct LargestBatchFound {
  std::int64_t batch = 0;  ///< 0: not even the least fits.
  /// Error of `predict` for batch + 1; empty if JudgeFit refuses batch + 1, or
  /// it is outside the range.
  std::string refusal;
  std::int64_t least = 0;  ///< Smallest that `predict` accepts.
  /// Its error for least - 1; empty if that is outside the range.
  std::string least_refusal;
};

/// True if a trace that threw `error` may succeed at another size:
/// kInvalidArgument, and kCorrupt, which an ONNX node throws for an input that
/// has become empty.
bool RefusesSize(const Error& error);

/// The largest batch of `range` that JudgeFit accepts. Doubles the batch,
/// then goes where a line through what the last two need meets the limit, and
/// likewise between the last accepted and the first refused one: about 5 calls
/// of `predict` where needs grow like a line, at most about 4 log2(answer).
/// JudgeFit refuses the answer + 1 unless the answer is range.most; if figures
/// do not grow with the batch, it may accept a still larger one.
///
/// A batch for which `predict` throws an error of RefusesSize counts as too
/// large for the model; if it throws one for range.least, the batch doubles
/// until one is accepted, and the search begins at the smallest accepted batch:
/// torch.export requires open sizes >= 2, and poolings need a minimum length.
///
/// Requires 1 <= range.least <= range.most. Throws anything else that `predict`
/// and JudgeFit throw, and the error of `predict` for range.least if it refuses
/// that and all its doublings.
LargestBatchFound LargestBatch(
    const BatchRange& range,
    const std::function<Prediction(std::int64_t)>& predict,
    const DeviceSpec& device, const FitLimits& limits = {});

}  // namespace foretell
