#include "training/judge/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cost/test_device.h"
#include "tests/datasets/expect_error.h"
#include "training/fit/residuals.h"
#include "training/judge/comparison.h"
#include "training/judge/folds.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using learned::Target;
using testing::HasSubstr;

std::string Numbered(const char* prefix, int number) {
  return std::string(prefix).append(std::to_string(number));
}

/// A sample of which only memory is known.
PredictedSample OfMemory(double truth, double predicted,
                         std::optional<Interval> interval = {}) {
  PredictedSample one;
  ValueOf(one.truth, Target::kMemory) = truth;
  ValueOf(one.predicted, Target::kMemory) = predicted;
  one.intervals[static_cast<std::size_t>(Target::kMemory)] = interval;
  return one;
}

TEST(Accuracy, IsAsComputedByHand) {
  // Errors 10 %, 20 %, 50 %, 0 %.
  const std::vector<PredictedSample> judged = {
      OfMemory(10, 11, Interval{9, 12}), OfMemory(20, 16, Interval{21, 30}),
      OfMemory(40, 60, Interval{30, 80}), OfMemory(80, 80)};
  const TargetAccuracy accuracy = JudgeTarget(Target::kMemory, judged);
  EXPECT_EQ(accuracy.count, 4);
  EXPECT_NEAR(accuracy.mape, 0.2, 1e-12);
  EXPECT_NEAR(accuracy.median_ape, 0.15, 1e-12);
  // Mean 37.5: total 27.5² + 17.5² + 2.5² + 42.5² = 2875; residual 1 + 16 +
  // 400.
  EXPECT_NEAR(accuracy.r2, 1 - 417.0 / 2875, 1e-12);
  // Logarithms base 2 of 10 · (1, 2, 4, 8): 0 1 2 3, total 5.
  const double residual = std::pow(std::log2(1.1), 2) +
                          std::pow(std::log2(0.8), 2) +
                          std::pow(std::log2(1.5), 2);
  EXPECT_NEAR(accuracy.r2_log, 1 - residual / 5, 1e-12);
  EXPECT_NEAR(accuracy.spearman, 1, 1e-12);
  EXPECT_EQ(accuracy.underestimated, 0.25);
  EXPECT_NEAR(accuracy.coverage, 2.0 / 3, 1e-12);
}

TEST(Accuracy, SharesRanksOfEqualValues) {
  // Ranks 1.5 1.5 3 against 1 2 3: covariance 1.5, variances 1.5 and 2.
  const std::vector<PredictedSample> judged = {OfMemory(5, 1), OfMemory(5, 2),
                                               OfMemory(9, 3)};
  EXPECT_NEAR(JudgeTarget(Target::kMemory, judged).spearman,
              1.5 / std::sqrt(1.5 * 2), 1e-12);
}

TEST(Accuracy, IsUnknownWhereItMeansNothing) {
  const std::vector<PredictedSample> judged = {OfMemory(5, 6)};
  const TargetAccuracy accuracy = JudgeTarget(Target::kMemory, judged);
  EXPECT_FALSE(learned::IsKnown(accuracy.r2));
  EXPECT_FALSE(learned::IsKnown(accuracy.spearman));
  EXPECT_FALSE(learned::IsKnown(accuracy.coverage));
  EXPECT_EQ(JudgeTarget(Target::kMemory, {}).count, 0);
  EXPECT_EQ(JudgeTarget(Target::kLatency, judged).count, 0);
}

TEST(FitDecisions, CompareWithUsableMemoryOfEachProfile) {
  const DeviceSpec& device =
      DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
  const auto usable =
      static_cast<double>(device.FindMigProfile("1g.5gb").usable_mib);
  const std::vector<PredictedSample> memory = {
      OfMemory(usable, usable),          // fits, and is said to
      OfMemory(usable - 1, usable + 1),  // fits, but is said not to
      OfMemory(usable + 1, usable - 1),  // does not, but is said to
      OfMemory(1, 1),
      {.sample = 1},  // says nothing
  };
  const std::vector<FitDecision> decisions = JudgeFits(device, memory);
  const FitDecision& small = decisions.front();
  EXPECT_EQ(small.profile, "1g.5gb");
  EXPECT_EQ(small.fits, 3);
  EXPECT_EQ(small.predicted, 3);
  EXPECT_EQ(small.both, 2);
  EXPECT_NEAR(small.Recall(), 2.0 / 3, 1e-12);
  EXPECT_EQ(decisions.back().profile, "");
  EXPECT_EQ(decisions.back().Precision(), 1);
  for (const FitDecision& decision : decisions) {
    EXPECT_THAT(decision.profile, testing::Not(HasSubstr("+me")));
  }
}

/// Two families with two samples each, of which one has no energy.
SampleSet FourSamples() {
  SampleSet set{.devices = {"gpu"},
                .settings = {R"({"clock":"1410"})"},
                .sources = {"a, b"}};
  for (int i = 0; i < 4; ++i) {
    set.samples.push_back(
        {.model = Numbered("m", i),
         .family = i < 2 ? "one" : "two",
         .macs = 10 * i,
         .provenance = i == 0 ? Provenance::kImported : Provenance::kMeasured,
         .targets = {100.0 * (i + 1), learned::kUnknown, i == 3 ? 8.0 : 4.0}});
  }
  set.samples[0].targets[2] = learned::kUnknown;
  return set;
}

std::vector<PredictedSample> TenPercentMore(const SampleSet& set) {
  std::vector<PredictedSample> predictions;
  for (std::size_t i = 0; i < set.samples.size(); ++i) {
    PredictedSample one{.sample = i,
                        .truth = set.samples[i].targets,
                        .predicted = {110.0 * double(i + 1), 1, 5}};
    one.intervals[0] = Interval{one.predicted[0] * 0.8, one.predicted[0]};
    predictions.push_back(one);
  }
  return predictions;
}

TEST(Evaluation, JudgesTargetsAndFamilies) {
  const SampleSet set = FourSamples();
  const Evaluation evaluation =
      Evaluate(set, TenPercentMore(set), learned::kAllTargets, nullptr);
  EXPECT_EQ(evaluation.provenance.at("imported"), 1);
  EXPECT_EQ(evaluation.provenance.at("measured"), 3);
  ASSERT_EQ(evaluation.targets.size(), 2);
  EXPECT_NEAR(evaluation.targets[0].mape, 0.1, 1e-12);
  EXPECT_EQ(evaluation.targets[0].coverage, 1);
  EXPECT_EQ(evaluation.targets[1].count, 3);
  // Energy: 25 %, 25 %, 37.5 % off; memory four times 10 %.
  EXPECT_NEAR(evaluation.pooled_mape, (0.4 + 0.25 + 0.25 + 0.375) / 7, 1e-12);
  ASSERT_EQ(evaluation.families.size(), 2);
  EXPECT_EQ(evaluation.families[0].family, "one");
  EXPECT_EQ(evaluation.families[0].targets[1].count, 1);
  EXPECT_TRUE(evaluation.fits.empty());
}

TEST(Evaluation, SaysInEveryFormWhereLabelsComeFrom) {
  const SampleSet set = FourSamples();
  Evaluation evaluation =
      Evaluate(set, TenPercentMore(set), learned::kAllTargets, nullptr);
  evaluation.method = "pmgns 64";
  EXPECT_THAT(EvaluationToText(evaluation),
              HasSubstr("1 imported, 3 measured"));
  const std::string markdown = EvaluationToMarkdown(evaluation);
  EXPECT_THAT(markdown, HasSubstr("- labels: 1 imported, 3 measured"));
  EXPECT_THAT(markdown, HasSubstr("| memory | 4 | 10.00 % |"));
  const auto json = nlohmann::json::parse(EvaluationToJson(evaluation));
  EXPECT_EQ(json["provenance"]["measured"], 3);
  EXPECT_NEAR(json["targets"][0]["mape"].get<double>(), 0.1, 1e-12);
  EXPECT_TRUE(json["targets"][1]["coverage"].is_null());
}

TEST(Evaluation, CountsOnAPageWhatItDoesNotDraw) {
  constexpr std::size_t kLabels = 1568;
  const SampleSet set = FourSamples();
  const std::vector<PredictedSample> few = TenPercentMore(set);
  const std::vector<PredictedSample> many(kLabels, few.front());
  const std::string page = EvaluationToHtml(
      Evaluate(set, many, learned::kAllTargets, nullptr), set, many);
  constexpr std::string_view kBegin = "id=\"data\">";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  const auto document = nlohmann::json::parse(
      page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(document["errors"]["memory"].size(), kLabels);
  EXPECT_NEAR(document["errors"]["memory"][0].get<double>(), 0.1, 1e-9);
  EXPECT_LT(document["predictions"].size(), kLabels);
  EXPECT_TRUE(document["errors"]["energy"].empty());
}

TEST(Evaluation, ListsEveryPrediction) {
  const SampleSet set = FourSamples();
  const std::string csv =
      PredictionsToCsv(set, TenPercentMore(set), learned::kAllTargets);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 4 + 3);
  EXPECT_THAT(csv,
              HasSubstr("\nm0,one,1,0,gpu,\"{\"\"clock\"\":\"\"1410\"\"}\","
                        "\"a, b\",imported,memory_mib,100,110,88,110\n"));
  EXPECT_THAT(csv,
              HasSubstr("\nm3,two,1,30,gpu,\"{\"\"clock\"\":\"\"1410\"\"}\","
                        "\"a, b\",measured,energy_j,8,5,,\n"));
}

TEST(ConformalInterval, TakesTheRanksThatPromiseItsCoverage) {
  std::vector<double> residuals;
  for (int i = 99; i >= 1; --i) residuals.push_back((i - 50) / 100.0);
  // 100 · 0.05 = 5: the fifth from either end.
  const auto interval = ConformalInterval(residuals, 0.9);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->lo, -0.45, 1e-12);
  EXPECT_NEAR(interval->hi, 0.45, 1e-12);
  EXPECT_EQ(interval->count, 99);
}

TEST(ConformalInterval, ContainsThePrediction) {
  const auto interval = ConformalInterval(std::vector<double>(50, 0.3), 0.9);
  EXPECT_EQ(interval->lo, 0);
  EXPECT_EQ(interval->hi, 0.3);
}

TEST(ConformalInterval, NeedsEnoughResiduals) {
  EXPECT_FALSE(ConformalInterval(std::vector<double>(18, 0)).has_value());
  EXPECT_TRUE(ConformalInterval(std::vector<double>(19, 0)).has_value());
}

SampleSet Families(int count) {
  SampleSet set;
  for (int i = 0; i < count; ++i) {
    set.samples.push_back({.model = Numbered("m", i / 2),
                           .family = Numbered("f", i / 10),
                           .targets = {100, 100, 100}});
  }
  return set;
}

TEST(Folds, KeepGroupsTogetherAndSizesAlike) {
  const SampleSet set = Families(100);
  const std::vector<int> folds = AssignFolds(set, FoldKind::kFamily, 5, 1);
  std::vector<int> sizes(5, 0);
  for (std::size_t i = 0; i < folds.size(); ++i) {
    EXPECT_EQ(folds[i], folds[i / 10 * 10]);
    ++sizes[static_cast<std::size_t>(folds[i])];
  }
  EXPECT_EQ(sizes, std::vector<int>(5, 20));
  EXPECT_NE(folds, AssignFolds(set, FoldKind::kFamily, 5, 2));
}

TEST(Folds, SayThatThereIsNothingToLeaveOut) {
  ExpectError(ErrorCode::kInvalidArgument,
              "folds by family: samples have 1 group, expected at least 2",
              [] { AssignFolds(Families(10), FoldKind::kFamily, 3, 0); });
}

TEST(Folds, LeaveOutSourcesWhateverTheirNetworks) {
  SampleSet set{.sources = {"a", "b"}};
  for (const std::uint32_t source : {0U, 1U, 1U, 0U}) {
    set.samples.push_back({.model = "m", .family = "f", .source = source});
  }
  const std::vector<int> folds = AssignFolds(set, FoldKind::kSource, 2, 0);
  EXPECT_EQ(folds[0], folds[3]);
  EXPECT_EQ(folds[1], folds[2]);
  EXPECT_NE(folds[0], folds[1]);
}

TEST(Folds, LeaveOutAChipWithItsSlices) {
  DeviceSpec slice = test::A100();
  slice.name += ".1g.5gb";
  DeviceSpec other = test::A100();
  other.compute_capability = 90;
  SampleSet set{.specs = {&test::A100(), &slice, &other}};
  for (const std::uint32_t device : {0U, 1U, 2U}) {
    set.samples.push_back({.model = "m", .family = "f", .device = device});
  }
  const std::vector<int> folds = AssignFolds(set, FoldKind::kGeneration, 2, 0);
  EXPECT_EQ(folds[0], folds[1]);
  EXPECT_NE(folds[0], folds[2]);
  set.specs.clear();
  ExpectError(ErrorCode::kInvalidArgument, "network or inputs that read",
              [&] { AssignFolds(set, FoldKind::kGeneration, 2, 0); });
}

TEST(Folds, AreAtMostAsManyAsGroups) {
  const SampleSet set = Families(20);
  ExpectError(ErrorCode::kInvalidArgument, "expected 2 to 2",
              [&] { AssignFolds(set, FoldKind::kFamily, 3, 0); });
}

TEST(CrossConformal, JudgesAFoldByTheOthers) {
  std::vector<PredictedSample> predictions;
  std::vector<int> folds;
  for (std::size_t i = 0; i < 60; ++i) {
    folds.push_back(i < 30 ? 0 : 1);
    // Exact in fold 0; half the truth in fold 1.
    const double value = i < 30 ? 100 : 50;
    predictions.push_back({i, {100, 100, 100}, {value, value, value}});
  }
  const std::vector<PredictedSample> judged =
      CrossConformal(predictions, folds, 2);
  EXPECT_NEAR(judged[0].intervals[0]->hi, 200, 1e-9);
  EXPECT_NEAR(judged[59].intervals[0]->hi, 50, 1e-9);
}

TEST(Comparison, ShowsMeanAndDeviationOverSeeds) {
  const auto cell = [](learned::LayerKind layer, std::uint64_t seed,
                       double test) {
    return ComparisonCell{.network = {layer},
                          .seed = seed,
                          .test = {.pooled = test, .mape = {test, test, test}}};
  };
  const std::vector<ComparisonCell> cells = {
      cell(learned::LayerKind::kGat, 0, 0.3),
      cell(learned::LayerKind::kPmgns, 0, 0.1),
      cell(learned::LayerKind::kGat, 1, 0.5)};
  // (0.3, 0.5): mean 0.4, deviation √(2 · 0.1²) = 0.141.
  EXPECT_THAT(ComparisonToMarkdown(cells), HasSubstr("| gat | - | - | 0.400 ± "
                                                     "0.141 |"));
  const auto json = nlohmann::json::parse(ComparisonToJson(cells));
  EXPECT_EQ(json["networks"][1]["network"], "pmgns");
  EXPECT_EQ(json["networks"][1]["test"]["memory"]["deviation"], 0);
  EXPECT_TRUE(json["networks"][0]["train"]["pooled"]["mean"].is_null());
  const ComparisonCell read = CellFromJson(CellToJson(cells[2]), "x");
  EXPECT_EQ(read.seed, 1);
  EXPECT_EQ(read.test.pooled, 0.5);
  EXPECT_FALSE(learned::IsKnown(read.train.pooled));
}

}  // namespace
}  // namespace foretell::training
