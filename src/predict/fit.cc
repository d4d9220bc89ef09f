#include "foretell/fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "foretell/error.h"
#include "foretell/mig.h"

namespace foretell {
namespace {

using mig::Fit;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// NaN is neither kept nor exceeded.
void RefuseNonLimit(std::string_view what, double limit) {
  if (limit > 0) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("the limit of {} is {}, expected a number above 0",
                          what, limit));
}

/// How far a strict judge goes above an estimate: to the upper end of its
/// interval, which stretches with it on a slice. An estimate of 0 stays 0.
double Stretch(bool strict, const Figure& figure) {
  return strict && figure.value > 0 ? figure.interval.hi / figure.value : 1.0;
}

FitCheck CheckMemory(double needed_mib, double cache_mib, double limit_mib) {
  return {.what = "memory at most",
          .value = needed_mib,
          .least = needed_mib - cache_mib,
          .limit = limit_mib,
          .unit = "MiB",
          .fit = mig::JudgeMemory(needed_mib, cache_mib, limit_mib)};
}

FitCheck CheckEstimate(std::string_view what, double value, double limit,
                       std::string_view unit) {
  return {.what = what,
          .value = value,
          .least = value,
          .limit = limit,
          .unit = unit,
          .fit = value <= limit ? Fit::kFits : Fit::kDoesNotFit};
}

/// Batch sizes between which the answer lies.
struct Bracket {
  std::int64_t good;  ///< Accepted.
  std::int64_t bad;   ///< Refused, or above the most that is wanted.
};

/// The least batch, or 2 where the model refuses 1; 0 where that does not fit.
template <typename Fits>
std::int64_t SmallestBatch(const BatchRange& range, const Fits& fits) {
  try {
    return fits(range.least) ? range.least : 0;
  } catch (const Error& refusal) {
    if (refusal.code() != ErrorCode::kInvalidArgument || range.least > 1 ||
        range.most < 2) {
      throw;
    }
    const Error of_one = refusal;
    try {
      return fits(2) ? 2 : 0;
    } catch (const Error&) {
      throw of_one;
    }
  }
}

template <typename Fits>
Bracket BracketByDoubling(std::int64_t good, std::int64_t most,
                          const Fits& fits) {
  while (good < most) {
    const std::int64_t next = good + std::min(good, most - good);
    if (!fits(next)) return {good, next};
    good = next;
  }
  return {most, most + 1};
}

}  // namespace

FitVerdict JudgeFit(const Prediction& prediction, const DeviceSpec& device,
                    const FitLimits& limits) {
  RefuseNonLimit("memory", limits.max_memory_mib);
  RefuseNonLimit("latency", limits.max_latency_ms);
  RefuseNonLimit("energy", limits.max_energy_j);
  const mig::Verdict verdict =
      mig::Judge(ToDemand(prediction), device, limits.profile);
  const auto check_memory = [&](double limit_mib) {
    return CheckMemory(verdict.needed_mib, prediction.cache_mib, limit_mib);
  };
  const double latency_ms =
      verdict.latency_ms * Stretch(limits.strict, prediction[Target::kLatency]);
  const double energy_j =
      verdict.energy_j * Stretch(limits.strict, prediction[Target::kEnergy]);
  FitVerdict result;
  result.checks = {
      check_memory(static_cast<double>(verdict.usable_mib)),
      check_memory(limits.max_memory_mib),
      CheckEstimate("latency", latency_ms, limits.max_latency_ms, "ms"),
      CheckEstimate("energy", energy_j, limits.max_energy_j, "J")};
  std::erase_if(result.checks,
                [](const FitCheck& check) { return check.limit == kNoLimit; });
  const Fit accepted = limits.tight ? Fit::kFitsWithoutCache : Fit::kFits;
  for (FitCheck& check : result.checks) {
    check.within = check.fit <= accepted;
  }
  result.fit = std::ranges::max(result.checks, {}, &FitCheck::fit).fit;
  result.fits = result.fit <= accepted;
  return result;
}

LargestBatchFound LargestBatch(
    const BatchRange& range,
    const std::function<Prediction(std::int64_t)>& predict,
    const DeviceSpec& device, const FitLimits& limits) {
  const auto fits = [&](std::int64_t batch) {
    return JudgeFit(predict(batch), device, limits).fits;
  };
  std::map<std::int64_t, std::string> refusals;
  const auto fits_and_allowed = [&](std::int64_t batch) {
    try {
      return fits(batch);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      refusals[batch] = error.what();
      return false;
    }
  };
  const std::int64_t smallest = SmallestBatch(range, fits);
  if (smallest == 0) return {};
  Bracket bracket = BracketByDoubling(smallest, range.most, fits_and_allowed);
  while (bracket.bad - bracket.good > 1) {
    const std::int64_t middle = bracket.good + (bracket.bad - bracket.good) / 2;
    (fits_and_allowed(middle) ? bracket.good : bracket.bad) = middle;
  }
  return {bracket.good, refusals[bracket.good + 1]};
}

}  // namespace foretell
