#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/plan_options.h"
#include "cli/commands/swept_model.h"
#include "cli/flags/fit_flags.h"
#include "cli/print/print_plan.h"
#include "cli/print/progress_bar.h"
#include "foretell/error.h"
#include "foretell/fit.h"
#include "src/core/json_text.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

constexpr char kAxisFlag[] = "--axis";
constexpr char kBatchAxis[] = "batch";
constexpr char kResolutionAxis[] = "resolution";
/// Networks that halve images a few times accept no other edges.
constexpr std::int64_t kResolutionStep = 32;
/// Halvings and doublings: to the least that the model accepts and to the most
/// that fits.
constexpr int kSearches = 3;

std::int64_t StepOf(const PlanOptions& options) {
  if (options.step > 0) return options.step;
  return options.axis == kResolutionAxis ? kResolutionStep : 1;
}

/// A model along one axis, the batch being fixed unless it is that axis.
class AxisOfModel {
 public:
  explicit AxisOfModel(const PlanOptions& options)
      : options_(options),
        model_(options.model, AxesOf(options), kAxisFlag),
        predictor_(options.predictor.Make(options.model.run)) {}

  const DeviceSpec& device() const { return predictor_.device(); }

  Prediction At(std::int64_t value) {
    const auto most = static_cast<std::uint64_t>(options_.limit);
    progress_.Show(tried_++, kSearches * std::bit_width(most), 0,
                   fmt::format("{} {}", options_.axis, value));
    Eigen::VectorXd point(model_.axes().size());
    point[0] = static_cast<double>(value);
    if (point.size() > 1) point[1] = static_cast<double>(options_.batch);
    try {
      return predictor_.Predict(model_.GraphAt(point));
    } catch (const Error& refusal) {
      const std::string_view words = refusal.what();
      refusals_.emplace(words.substr(std::min(words.find(": "), words.size())));
      throw;
    }
  }

  /// Whether values were refused with different messages: a refusal that is the
  /// same for all of them does not depend on the size.
  bool RefusesBySize() const { return refusals_.size() > 1; }

 private:
  static std::vector<surrogate::Axis> AxesOf(const PlanOptions& options) {
    std::vector<surrogate::Axis> axes = {{options.axis, {}}};
    if (options.batch > 0 && options.axis != kBatchAxis) {
      axes.push_back({kBatchAxis, {}});
    }
    return axes;
  }

  const PlanOptions& options_;
  SweptModel model_;
  Predictor predictor_;
  ProgressBar progress_;
  std::int64_t tried_ = 0;
  std::set<std::string> refusals_;  ///< Without the value that was tried.
};

/// What JudgeFit compares with the memory of the device: `value`, `limit`.
FitCheck DeviceCheck(const Prediction& prediction, const DeviceSpec& device,
                     const FitLimits& limits) {
  return JudgeFit(prediction, device, limits).checks.front();
}

/// The most steps that fit; what each number tried needs goes to `needed`.
LargestBatchFound MostSteps(const PlanOptions& options, const FitLimits& limits,
                            AxisOfModel& axis,
                            std::map<std::int64_t, FitCheck>& needed) {
  const std::int64_t step = StepOf(options);
  const BatchRange range = {
      .most = std::max<std::int64_t>(options.limit / step, 1)};
  const auto predict = [&](std::int64_t count) {
    Prediction prediction = axis.At(count * step);
    needed[count] = DeviceCheck(prediction, axis.device(), limits);
    return prediction;
  };
  try {
    return LargestBatch(range, predict, axis.device(), limits);
  } catch (const Error& error) {
    const bool tried_all = RefusesSize(error) && needed.empty();
    if (!tried_all || !axis.RefusesBySize()) throw;
    throw Error(
        error.code(),
        fmt::format("{}; no doubling of it up to {} was accepted either",
                    error.what(), range.most * step));
  }
}

PlannedModel Search(const PlanOptions& options) {
  AxisOfModel axis(options);
  const double memory = ToMiB(options.memory_bytes());
  FitLimits limits;
  limits.max_memory_mib = (1 - options.margin) * memory;
  std::map<std::int64_t, FitCheck> needed;
  LargestBatchFound found = MostSteps(options, limits, axis, needed);
  const std::int64_t step = StepOf(options);
  const std::int64_t steps = found.batch;
  const auto shown = steps > 0 ? needed.find(steps) : needed.begin();
  return {.model = options.model.models.front(),
          .place = PlaceName(axis.device(), ""),
          .axis = options.axis,
          .value = steps * step,
          .step = step,
          .smallest = found.least * step,
          .smallest_refusal = std::move(found.least_refusal),
          .is_limit = (steps + 1) * step > options.limit,
          .refusal = std::move(found.refusal),
          .needed_mib = shown->second.value,
          .memory_mib = memory,
          .usable_mib = limits.max_memory_mib,
          .device_mib = shown->second.limit};
}

ExitCode Answer(const PlanOptions& options) {
  const PlannedModel planned = Search(options);
  if (options.json) {
    std::cout << DumpJson(PlannedModelToJson(planned)) << "\n";
  } else if (planned.value > 0) {
    std::cout << FormatPlannedModel(planned);
  }
  if (planned.value > 0) return kExitOk;
  PrintError(SmallestDoesNotFit(planned));
  return kExitDoesNotFit;
}

}  // namespace

ExitCode PlanModel(const PlanOptions& options) {
  return AnswerForModels(
      options.model.models, [&] { return Answer(options); },
      options.json ? &NoResults : nullptr);
}

}  // namespace foretell::cli
