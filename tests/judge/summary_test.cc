#include "src/judge/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/predictor.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr double kMibPerGib = 1024;

OperatorGraph SmallGraph() {
  return ParseGraph(R"(graph "network" batch=8
%x = input f32[8,64,56,56]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[8,64,56,56] @ "layer1.conv1"
%b = relu(%a) : f32[8,64,56,56]
output %b
)");
}

Report ReportOf(const OperatorGraph& graph) {
  const DeviceSpec& device = DeviceCatalog::BuiltIn().FindDevice("a100");
  const Prediction prediction = Predictor::Analytic(device, {}).Predict(graph);
  return MakeReport({"network.onnx", "onnx"}, graph, prediction,
                    mig::Recommend(ToDemand(prediction), device));
}

std::string LineOf(const Summary& summary, const std::string& label) {
  for (const SummaryLine& line : summary.lines) {
    if (line.label == label) return line.text;
  }
  return "no line " + label;
}

mig::Verdict VerdictOf(double total_mib, double needed_mib, double cache_mib,
                       std::int64_t usable_mib) {
  return {.usable_mib = usable_mib,
          .total_mib = total_mib,
          .needed_mib = needed_mib,
          .fit = mig::JudgeMemory(needed_mib, cache_mib,
                                  static_cast<double>(usable_mib))};
}

TEST(Summary, ListsThePassesOfAProcess) {
  Report report = ReportOf(SmallGraph());
  report.passes = {
      {.label = "length 64", .runs = 1, .figures = {.latency_ms = 9.21}},
      {.label = "length 512", .runs = 2, .figures = {.latency_ms = 60}}};
  EXPECT_EQ(LineOf(Summarize(report), "passes"),
            "length 64 9.21 ms, length 512 60 ms ×2");
  report.mean_latency_ms = 43.07;
  EXPECT_EQ(LineOf(Summarize(report), "passes"),
            "length 64 9.21 ms, length 512 60 ms ×2; mean 43.1 ms");
}

TEST(Outcome, FitsWhereTheUpperEndDoes) {
  EXPECT_EQ(OutcomeOf(VerdictOf(90, 100, 0, 100)), Outcome::kFits);
}

TEST(Outcome, IsTightWhereOnlyTheEstimateFits) {
  EXPECT_EQ(OutcomeOf(VerdictOf(100, 101, 0, 100)), Outcome::kTight);
  EXPECT_EQ(OutcomeOf(VerdictOf(101, 120, 0, 100)), Outcome::kDoesNotFit);
}

TEST(Outcome, IsTightWhereTheCacheMustBeGivenBack) {
  EXPECT_EQ(OutcomeOf(VerdictOf(101, 120, 20, 100)), Outcome::kTight);
  EXPECT_EQ(OutcomeOf(VerdictOf(101, 120, 19, 100)), Outcome::kDoesNotFit);
}

TEST(Summary, SaysWhetherTheEnvironmentWouldNarrowMemory) {
  Report report = ReportOf(SmallGraph());
  const auto first = [&report] { return Summarize(report).lines.front().text; };
  EXPECT_THAT(first(), HasSubstr(", narrower with --environment)"));
  report.prediction.has_guessed_context = false;
  EXPECT_THAT(first(), Not(HasSubstr("--environment")));
}

TEST(Summary, BeginsWithTheVerdictInGib) {
  Report report = ReportOf(SmallGraph());
  report.prediction.has_guessed_context = false;
  report.recommendation.whole_device =
      VerdictOf(9.5 * kMibPerGib, 11.25 * kMibPerGib, 0, 40 * 1024);
  report.recommendation.profile = "3g.20gb";
  const Summary summary = Summarize(report);
  EXPECT_EQ(summary.lines.front().label, "FITS");
  EXPECT_EQ(summary.lines.front().text,
            "9.50 of 40.0 GiB (at most 11.2); smallest MIG slice 3g.20gb");
  report.recommendation.whole_device.host_share_mib = 8 * 1024;
  EXPECT_EQ(Summarize(report).lines.front().text,
            "9.50 of 40.0 GiB (at most 11.2); the host keeps 8.00 GiB of the "
            "pool; smallest MIG slice 3g.20gb");
  report.recommendation.whole_device.host_share_mib = 0;
  report.recommendation.whole_device.usable_mib = 10 * 1024;
  report.recommendation.whole_device.fit = mig::Fit::kDoesNotFit;
  EXPECT_EQ(Summarize(report).lines.front().label, "TIGHT");
  report.recommendation.whole_device.usable_mib = 9 * 1024;
  EXPECT_EQ(Summarize(report).lines.front().label, "DOES NOT FIT");
}

TEST(Summary, SaysWhatWasAskedAndWhere) {
  const Summary summary = Summarize(ReportOf(SmallGraph()));
  EXPECT_EQ(summary.title, "network.onnx · inference · fp32 · batch 8");
  EXPECT_EQ(summary.inputs, "x f32[8,64,56,56]");
  EXPECT_THAT(summary.place, StartsWith("a100-sxm4-40gb · CUDA context of "));
}

TEST(Summary, NamesTheTypeOfMostWeights) {
  Report report = ReportOf(SmallGraph());
  report.weights = {{DType::kF32, 10}, {DType::kBF16, 1000}};
  EXPECT_EQ(Summarize(report).title,
            "network.onnx · inference · bf16 weights · batch 8");
  report.weights = {{DType::kF32, 1000}, {DType::kI64, 10}};
  EXPECT_EQ(PrecisionText(report), "fp32");
  report.weights = {{DType::kBF16, 1000}};
  report.precision = Precision::kFp16;
  EXPECT_EQ(PrecisionText(report), "fp16");
}

TEST(Summary, DoesNotOfferASliceToAStepOfSeveralGpus) {
  Report report = ReportOf(SmallGraph());
  report.recommendation.profile = "1g.5gb";
  report.parallel = {.plan = "fsdp:8", .gpus = 8};
  const std::string text = Summarize(report).lines.front().text;
  EXPECT_THAT(text, HasSubstr("on each of 8 GPUs"));
  EXPECT_THAT(text, Not(HasSubstr("MIG")));
}

TEST(Summary, CountsSamplesPerSecond) {
  Report report = ReportOf(SmallGraph());
  report.prediction[Target::kLatency].value = 4;
  EXPECT_DOUBLE_EQ(ThroughputOf(report).samples_per_s, 2000);
  EXPECT_FALSE(ThroughputOf(report).tokens_per_s);
  EXPECT_THAT(LineOf(Summarize(report), "speed"), HasSubstr("4 ms per batch"));
}

TEST(Summary, CountsEveryBatchThatAStepAccumulates) {
  Report report = ReportOf(SmallGraph());
  report.prediction[Target::kLatency].value = 10;
  report.inputs = {{"ids", {DType::kI64, {8, 512}}}};
  report.batches_per_step = 4;
  EXPECT_DOUBLE_EQ(ThroughputOf(report).samples_per_s, 3200);
  EXPECT_DOUBLE_EQ(ThroughputOf(report).tokens_per_s.value(), 4 * 409600);
}

TEST(Summary, CountsTheBatchesOfAllGpus) {
  Report report = ReportOf(SmallGraph());
  report.prediction[Target::kLatency].value = 10;
  report.inputs = {{"ids", {DType::kI64, {8, 512}}}};
  report.parallel = {.plan = "ddp:8", .gpus = 8, .batches = 8};
  const Throughput rate = ThroughputOf(report);
  EXPECT_DOUBLE_EQ(TotalOf(rate, report).samples_per_s, 6400);
  EXPECT_DOUBLE_EQ(TotalOf(rate, report).tokens_per_s.value(), 8 * 409600);
  EXPECT_THAT(LineOf(Summarize(report), "speed"),
              HasSubstr("800 samples/s, 409600 tokens/s on each GPU (8 GPUs: "
                        "6400 samples/s, 3276800 tokens/s)"));
  report.parallel->batches = 2;
  EXPECT_THAT(LineOf(Summarize(report), "speed"),
              HasSubstr("on each group of 4 (8 GPUs: 1600 samples/s"));
  report.parallel->batches = 1;  // tp:8.
  EXPECT_THAT(LineOf(Summarize(report), "speed"), Not(HasSubstr("GPUs")));
}

TEST(Summary, CountsTheTokensOfAMatrixOfIntegers) {
  Report report = ReportOf(SmallGraph());
  report.prediction[Target::kLatency].value = 10;
  report.inputs = {{"ids", {DType::kI64, {8, 512}}}};
  EXPECT_DOUBLE_EQ(ThroughputOf(report).tokens_per_s.value(), 409600);
  report.inputs = {{"image", {DType::kF32, {8, 512}}}};
  EXPECT_FALSE(ThroughputOf(report).tokens_per_s);
  report.inputs = {{"edge_index", {DType::kI64, {2, 5000}}}};
  EXPECT_FALSE(ThroughputOf(report).tokens_per_s);
}

TEST(Summary, DividesTheSimulatedTotal) {
  const Report report = ReportOf(SmallGraph());
  const std::vector<MemoryPart> parts = MemoryParts(report);
  double sum = 0;
  double before = parts.front().mib;
  for (const MemoryPart& part : parts) {
    EXPECT_LE(part.mib, before);
    before = part.mib;
    sum += part.mib;
  }
  const MemoryBreakdown& memory = report.prediction.memory;
  EXPECT_NEAR(sum,
              static_cast<double>(memory.context + memory.reserved_peak) /
                  (1024 * 1024),
              1e-6);
}

TEST(Summary, JudgesCardsOfCommonSizes) {
  Report report = ReportOf(SmallGraph());
  report.recommendation.whole_device =
      VerdictOf(30 * kMibPerGib, 42 * kMibPerGib, 0, 40 * 1024);
  const std::vector<CardOutcome> cards = CommonCards(report);
  ASSERT_EQ(cards.size(), 3u);
  EXPECT_EQ(cards[0].gb, 24);
  EXPECT_EQ(cards[0].outcome, Outcome::kDoesNotFit);
  EXPECT_EQ(cards[1].outcome, Outcome::kTight);
  EXPECT_EQ(cards[2].outcome, Outcome::kFits);
  EXPECT_EQ(LineOf(Summarize(report), "cards"),
            "24 GB does not fit, 40 GB tight, 80 GB fits");
}

TEST(Summary, SaysInWhichPassThePeakIs) {
  Report report = ReportOf(SmallGraph());
  report.peak_operator = "head (linear)";
  report.peak_phase = Phase::kBackward;
  EXPECT_EQ(LineOf(Summarize(report), "peak"),
            "in head (linear), the backward pass");
  report.peak_phase = Phase::kOptimizer;
  EXPECT_THAT(LineOf(Summarize(report), "peak"),
              HasSubstr("the optimizer step"));
}

TEST(Summary, OffersASuggestionWhereOneWasTried) {
  Report report = ReportOf(SmallGraph());
  EXPECT_THAT(LineOf(Summarize(report), "try"), StartsWith("no line"));
  report.suggestion = {.flags = "--recompute auto",
                       .at_most_mib = 6 * kMibPerGib,
                       .latency_ms = 64};
  EXPECT_EQ(LineOf(Summarize(report), "try"),
            "--recompute auto → at most 6.00 GiB, 64 ms");
}

}  // namespace
}  // namespace foretell
