// The loss over a rate that grows by a constant factor per batch is flat while
// the rate is too small to learn, falls, and rises steeply once steps
// overshoot. Where it falls most steeply is a rate that learns quickly with a
// factor of several in hand (L. N. Smith, "Cyclical learning rates", 2017).
// Losses of single batches jump about, hence the moving mean.
#include "training/fit/rate_finder.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/page/html_page.h"
#include "training/fit/fit_info.h"

namespace foretell::training {
namespace {

constexpr double kSmoothing = 0.9;
/// Above this multiple of the lowest loss the network has diverged.
constexpr double kDiverged = 4;
constexpr std::int64_t kSlopeSpan = 3;
constexpr std::int64_t kStepsBeforeDiverging = 10;

/// Batches of one pass after another, until there are `steps`.
BatchPlan PlanSteps(const TrainerOptions& options, const TrainingData& data,
                    std::int64_t steps) {
  BatchPlan plan;
  for (std::uint64_t pass = 0; std::ssize(plan) < steps; ++pass) {
    BatchPlan more = PlanEpoch(data.set, data.train, options.batch_size,
                               MixSeed(options.seed, pass));
    std::ranges::move(more, std::back_inserter(plan));
  }
  plan.resize(static_cast<std::size_t>(steps));
  return plan;
}

}  // namespace

double SuggestRate(const std::vector<RateTest::Step>& steps) {
  if (steps.size() < 3) {
    throw InvalidArgument("range test of {}, expected at least 3",
                          Counted(steps.size(), "step"));
  }
  const auto lowest =
      std::ranges::min_element(steps, {}, &RateTest::Step::smoothed) -
      steps.begin();
  double steepest = 0;
  double rate = steps.front().rate;
  for (std::int64_t i = 0; i <= lowest; ++i) {
    const auto& from = steps[static_cast<std::size_t>(
        std::max(i - kSlopeSpan, std::int64_t{0}))];
    const auto& to = steps[static_cast<std::size_t>(
        std::min(i + kSlopeSpan, std::ssize(steps) - 1))];
    const double slope = (to.smoothed - from.smoothed) /
                         (std::log(to.rate) - std::log(from.rate));
    if (slope >= steepest) continue;
    steepest = slope;
    rate = steps[static_cast<std::size_t>(i)].rate;
  }
  return rate;
}

RateTest FindRate(const TrainerOptions& options,
                  const learned::CheckpointInfo& info, const TrainingData& data,
                  Communicator& communicator, const RateTestOptions& test) {
  Learner learner(options, info, data.set, communicator);
  FitInputScale(learner.network(), info, data);
  BatchLoader loader(data.store, data.set, info,
                     ShareOf(PlanSteps(options, data, test.steps),
                             communicator.rank(), communicator.size()));
  const double factor = std::pow(
      test.highest / test.lowest,
      1 / static_cast<double>(std::max<std::int64_t>(test.steps - 1, 1)));
  RateTest result;
  double mean = 0;
  double lowest = 0;
  double rate = test.lowest;
  while (const std::optional<LoadedBatch> batch = loader.Next()) {
    const auto count = static_cast<double>(result.steps.size() + 1);
    const double loss =
        learner.Step(*batch, {.rate = rate, .seed = result.steps.size()}).loss;
    mean = kSmoothing * mean + (1 - kSmoothing) * loss;
    const double smoothed = mean / (1 - std::pow(kSmoothing, count));
    result.steps.push_back({rate, loss, smoothed});
    if (count == 1 || smoothed < lowest) lowest = smoothed;
    if (count > kStepsBeforeDiverging && smoothed > kDiverged * lowest) break;
    rate *= factor;
  }
  result.suggested = SuggestRate(result.steps);
  return result;
}

std::string RateTestToHtml(const RateTest& test) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const RateTest::Step& step : test.steps) {
    steps.push_back({{"rate", step.rate},
                     {"loss", step.loss},
                     {"smoothed", step.smoothed}});
  }
  return HtmlPage(PageView::kLearningRate, "Learning rate range test",
                  {{"suggested", test.suggested}, {"steps", std::move(steps)}});
}

}  // namespace foretell::training
