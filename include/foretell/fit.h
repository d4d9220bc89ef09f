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
#include "foretell/predictor.h"

/// Whether a step keeps its limits, and how large a batch may be to do so. This
/// is decided here alone: JudgeFit accepts the batch that LargestBatch returns.
namespace foretell {

/// What a step may use. Limits at infinity are not judged.
struct FitLimits {
  /// MIG profile that must hold it; empty: the device without MIG must.
  std::string profile;
  double max_memory_mib = std::numeric_limits<double>::infinity();
  double max_latency_ms = std::numeric_limits<double>::infinity();
  double max_energy_j = std::numeric_limits<double>::infinity();
  /// Judges latency and energy by the upper ends of their intervals.
  bool strict = false;
  /// Accepts a step that fits only when cached segments are given back.
  bool tight = false;
  /// Judges memory by its estimate, not by the upper end: what likely fits.
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
  /// Usable memory first, then the limits; a limit of memory below what is
  /// usable replaces the check of usable memory.
  std::vector<FitCheck> checks;
};

/// Judges a prediction for `device`: the upper end of its memory (its estimate
/// if by_estimate), if need be without its cache, against the usable memory and
/// against max_memory_mib; latency and energy (on limits.profile, if one is
/// named) against their limits by their estimates, or by their upper ends if
/// strict.
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
  /// What `predict` threw for batch + 1; empty if JudgeFit refuses that, or it
  /// was not to be searched.
  std::string refusal;
  std::int64_t least = 0;  ///< Smallest that `predict` accepts.
  /// What it threw for least - 1; empty if that was not to be searched.
  std::string least_refusal;
};

/// Whether a trace that threw `error` may succeed at another size:
/// kInvalidArgument, and kCorrupt, since a node of ONNX that has nothing left
/// to work on contradicts its file.
bool RefusesSize(const Error& error);

/// The largest batch of `range` that JudgeFit accepts. `predict` is asked for
/// the prediction of a batch size, about 2 log2(answer) times: sizes double
/// until one is refused, then the gap is halved. JudgeFit refuses the answer
/// + 1 unless the answer is the most; where figures do not grow with the batch,
/// a still larger one may be accepted.
///
/// Batches for which `predict` throws what RefusesSize names count as larger
/// than the model allows; if it throws that for the least, sizes double until
/// one is accepted, and the search begins at the least that is accepted:
/// torch.export bounds open sizes by 2 from below, poolings need lengths.
///
/// Requires 1 <= range.least <= range.most. Throws anything else that `predict`
/// and JudgeFit throw, and what `predict` threw for the least if it refuses
/// that and all of its doubles.
LargestBatchFound LargestBatch(
    const BatchRange& range,
    const std::function<Prediction(std::int64_t)>& predict,
    const DeviceSpec& device, const FitLimits& limits = {});

}  // namespace foretell
