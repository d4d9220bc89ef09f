#include "foretell/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "src/core/failure.h"

namespace foretell {
namespace {

using mig::Fit;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// NaN is neither kept nor exceeded.
void RefuseNonLimit(std::string_view what, double limit) {
  if (limit > 0) return;
  throw InvalidArgument("the limit of {} is {}, expected a number above 0",
                        what, limit);
}

/// How far a strict judge goes above an estimate: to the upper end of its
/// interval, which stretches with it on a slice. An estimate of 0 stays 0.
double Stretch(bool strict, const Figure& figure) {
  return strict && figure.value > 0 ? figure.interval.hi / figure.value : 1.0;
}

FitCheck CheckMemory(const mig::Verdict& verdict, double cache_mib,
                     double limit_mib, bool by_estimate) {
  const double mib = by_estimate ? verdict.total_mib : verdict.needed_mib;
  return {.what = by_estimate ? "memory" : "memory at most",
          .value = mib,
          .least = mib - cache_mib,
          .limit = limit_mib,
          .unit = "MiB",
          .fit = mig::JudgeMemory(mib, cache_mib, limit_mib)};
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

/// Where a search begins.
struct Begin {
  std::int64_t least = 0;  ///< That the model accepts.
  std::int64_t good = 0;   ///< Accepted, the least or larger; 0: none.
};

/// Asks `fits` for the least of `range` and its doubles until the model accepts
/// one, then for the least that it accepts. `refusals` holds the last batch
/// that was refused below that. Throws what was thrown for the least of `range`
/// if all are refused.
template <typename Fits>
Begin FindBegin(const BatchRange& range, const Fits& fits,
                std::map<std::int64_t, Error>& refusals) {
  // Without a value where the model refuses the size.
  const auto try_fits = [&](std::int64_t batch) -> std::optional<bool> {
    try {
      return fits(batch);
    } catch (const Error& refusal) {
      if (!RefusesSize(refusal)) throw;
      refusals.emplace(batch, refusal);
      return std::nullopt;
    }
  };
  std::int64_t taken = range.least;
  std::optional<bool> is_good = try_fits(taken);
  while (!is_good) {
    if (taken == range.most) throw Error(refusals.begin()->second);
    taken += std::min(taken, range.most - taken);
    is_good = try_fits(taken);
  }
  Begin begin{.least = taken, .good = *is_good ? taken : 0};
  while (begin.least > range.least && !refusals.contains(begin.least - 1)) {
    const std::int64_t refused = refusals.rbegin()->first;
    const std::int64_t middle = refused + (begin.least - refused) / 2;
    const std::optional<bool> middle_is_good = try_fits(middle);
    if (!middle_is_good) continue;
    begin.least = middle;
    if (begin.good == 0 && *middle_is_good) begin.good = middle;
  }
  return begin;
}

/// By size that was predicted: the share of its limits that it takes.
using Shares = std::map<std::int64_t, double>;

/// The largest share of a limit among the checks of `verdict`.
double WorstShare(const FitVerdict& verdict, bool tight) {
  double worst = 0;
  for (const FitCheck& check : verdict.checks) {
    const double value = tight ? check.least : check.value;
    worst = std::max(worst, value / check.limit);
  }
  return worst;
}

/// The size at which a line through the shares of `a` and `b` reaches 1; empty
/// if it does not rise, or a share is missing.
std::optional<double> SizeAtLimit(std::int64_t a, std::int64_t b,
                                  const Shares& shares) {
  const auto of_a = shares.find(a);
  const auto of_b = shares.find(b);
  if (of_a == shares.end() || of_b == shares.end()) return std::nullopt;
  const double rise =
      (of_b->second - of_a->second) / static_cast<double>(b - a);
  if (!(rise > 0)) return std::nullopt;
  return static_cast<double>(a) + (1 - of_a->second) / rise;
}

/// Needs mostly grow like a line, so the last two accepted sizes say where the
/// limit is: the first size beyond it, at most kFarthest times `good`; twice
/// `good` where there is no line. `before`: 0 if only one was accepted.
std::int64_t NextToTry(std::int64_t before, std::int64_t good,
                       std::int64_t most, const Shares& shares) {
  constexpr std::int64_t kFarthest = 8;
  const std::int64_t room = most - good;
  const auto limit =
      before > 0 ? SizeAtLimit(before, good, shares) : std::nullopt;
  if (!limit) return good + std::min(good, room);
  const double step = std::floor(*limit) + 1 - static_cast<double>(good);
  const double farthest = static_cast<double>((kFarthest - 1) * good);
  const auto whole =
      static_cast<std::int64_t>(std::clamp(step, 1.0, std::max(farthest, 1.0)));
  return good + std::min(whole, room);
}

template <typename Fits>
Bracket FindBracket(std::int64_t good, std::int64_t most, const Fits& fits,
                    const Shares& shares) {
  std::int64_t before = 0;
  while (good < most) {
    const std::int64_t next = NextToTry(before, good, most, shares);
    if (!fits(next)) return {good, next};
    before = std::exchange(good, next);
  }
  return {most, most + 1};
}

/// Narrows `bracket` to neighbours, each time to where the line meets the
/// limit. Halves it once after two tries in a row that left more than half.
template <typename Fits>
std::int64_t LastGood(Bracket bracket, const Fits& fits, const Shares& shares) {
  constexpr int kMostSlowTries = 2;
  int slow = 0;
  while (bracket.bad - bracket.good > 1) {
    const std::int64_t width = bracket.bad - bracket.good;
    std::int64_t next = bracket.good + width / 2;
    const auto limit = SizeAtLimit(bracket.good, bracket.bad, shares);
    const bool is_guess = limit && slow < kMostSlowTries;
    if (is_guess) {
      const double inside =
          std::clamp(std::floor(*limit), static_cast<double>(bracket.good + 1),
                     static_cast<double>(bracket.bad - 1));
      next = static_cast<std::int64_t>(inside);
    }
    (fits(next) ? bracket.good : bracket.bad) = next;
    const bool is_slow = 2 * (bracket.bad - bracket.good) > width;
    slow = is_guess && is_slow ? slow + 1 : 0;
  }
  return bracket.good;
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
    return CheckMemory(verdict, prediction.cache_mib, limit_mib,
                       limits.by_estimate);
  };
  const auto usable_mib = static_cast<double>(verdict.usable_mib);
  const double latency_ms =
      verdict.latency_ms * Stretch(limits.strict, prediction[Target::kLatency]);
  const double energy_j =
      verdict.energy_j * Stretch(limits.strict, prediction[Target::kEnergy]);
  FitVerdict result;
  result.checks = {
      check_memory(limits.max_memory_mib < usable_mib ? kNoLimit : usable_mib),
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

bool RefusesSize(const Error& error) {
  return error.code() == ErrorCode::kInvalidArgument ||
         error.code() == ErrorCode::kCorrupt;
}

LargestBatchFound LargestBatch(
    const BatchRange& range,
    const std::function<Prediction(std::int64_t)>& predict,
    const DeviceSpec& device, const FitLimits& limits) {
  Shares shares;
  const auto fits = [&](std::int64_t batch) {
    const FitVerdict verdict = JudgeFit(predict(batch), device, limits);
    shares[batch] = WorstShare(verdict, limits.tight);
    return verdict.fits;
  };
  std::map<std::int64_t, std::string> refusals;
  const auto fits_and_allowed = [&](std::int64_t batch) {
    try {
      return fits(batch);
    } catch (const Error& error) {
      if (!RefusesSize(error)) throw;
      refusals[batch] = error.what();
      return false;
    }
  };
  std::map<std::int64_t, Error> below;
  const Begin begin = FindBegin(range, fits, below);
  LargestBatchFound found{.least = begin.least};
  if (!below.empty()) found.least_refusal = below.rbegin()->second.what();
  if (begin.good == 0) return found;
  const Bracket bracket =
      FindBracket(begin.good, range.most, fits_and_allowed, shares);
  found.batch = LastGood(bracket, fits_and_allowed, shares);
  found.refusal = refusals[found.batch + 1];
  return found;
}

}  // namespace foretell
