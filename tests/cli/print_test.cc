// Tables, lists and lines beside the reports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/print/print_devices.h"
#include "cli/print/print_measurements.h"
#include "cli/print/print_summaries.h"
#include "cli/print/print_zoo.h"
#include "cli/print/progress_bar.h"

namespace foretell::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ProgressLine, KnowsNoRateBeforeTheFirstIsDone) {
  EXPECT_EQ(ProgressLine(0, 10, 0, 0, "a"),
            "[....................] 0/10  0 %  a");
  EXPECT_EQ(ProgressLine(0, 10, 0, 5, "a"),
            "[....................] 0/10  0 %  a");
}

TEST(ProgressLine, TellsRateTimeLeftAndFailures) {
  EXPECT_EQ(ProgressLine(5, 10, 1, 10, "net"),
            "[##########..........] 5/10  50 %  0.5/s  10 s left  1 failed  "
            "net");
}

TEST(ProgressLine, TellsLongTimesInTwoUnits) {
  EXPECT_THAT(ProgressLine(1, 60, 0, 2, ""), HasSubstr("1 min 58 s left"));
  EXPECT_THAT(ProgressLine(1, 101, 0, 60, ""), HasSubstr("1 h 40 min left"));
}

TEST(ProgressLine, IsFullAtTheEndAndOfNothing) {
  EXPECT_THAT(ProgressLine(3, 3, 0, 1, ""),
              StartsWith("[####################] 3/3  100 %"));
  EXPECT_THAT(ProgressLine(0, 0, 0, 1, ""),
              StartsWith("[####################] 0/0  100 %"));
}

TEST(ProgressLine, CutsNamesAndShowsThemHarmless) {
  const std::string name(100, 'n');
  EXPECT_THAT(ProgressLine(0, 1, 0, 0, name),
              EndsWith("  " + std::string(40, 'n')));
  EXPECT_THAT(ProgressLine(0, 1, 0, 0, "a\r\x1b[2J"),
              EndsWith("a\\x0d\\x1b[2J"));
}

TEST(ProgressBar, IsSilentForShortWorkWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar;
    bar.ShowStage(1, 2, "a");
    bar.Show(1, 2, 0, "a");
    bar.Show(2, 2, 0, "a");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressBar, PrintsALineNowAndThenWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar(true, std::chrono::milliseconds(0));
    bar.Show(0, 2, 0, "a");
    bar.Show(2, 2, 0, "a");
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, StartsWith("[....................] 0/2  0 %"));
  EXPECT_THAT(text, EndsWith("  a\n"));
  EXPECT_THAT(text, Not(HasSubstr("100 %")));
}

TEST(FormatSome, ShowsTwentyAndCountsTheRest) {
  EXPECT_EQ(FormatSome({}), "");
  EXPECT_EQ(FormatSome({"a\nb", "c"}), "  a\\x0ab\n  c\n");
  const std::vector<std::string> twenty(20, "x");
  EXPECT_THAT(FormatSome(twenty), Not(HasSubstr("more")));
  const std::vector<std::string> many(23, "x");
  EXPECT_THAT(FormatSome(many), EndsWith("  x\n  … and 3 more\n"));
}

TEST(FormatSummary, CountsEveryKindOfPoint) {
  EXPECT_EQ(FormatSummary(dataset::GenerateSummary{.planned = 15,
                                                   .present = 1,
                                                   .traced = 2,
                                                   .failed = 4,
                                                   .given_up = 8,
                                                   .failures = {}}),
            "15 points: 2 traced, 1 present, 4 failed, 8 skipped after earlier "
            "failures\n");
  EXPECT_EQ(FormatSummary(dataset::FillSummary{.points = 31,
                                               .present = 1,
                                               .labelled = 2,
                                               .failed = 4,
                                               .given_up = 8,
                                               .left = 16,
                                               .failures = {}}),
            "31 points: 2 labelled, 1 present, 4 failed, 8 skipped after "
            "earlier failures, 16 "
            "left\n");
}

TEST(FormatSummary, CountsEveryKindOfRow) {
  EXPECT_EQ(FormatSummary(dataset::ImportSummary{.rows = 127,
                                                 .joined = 1,
                                                 .present = 2,
                                                 .filtered = 4,
                                                 .valueless = 8,
                                                 .unmatched = 16,
                                                 .ambiguous = 32,
                                                 .conflicting = 64,
                                                 .problems = {}}),
            "127 rows: 1 joined, 2 present, 4 filtered out, 8 without a value, "
            "16 unmatched, 32 ambiguous, 64 conflicting\n");
}

TEST(FormatSummary, NamesTheMergedFile) {
  dataset::MergeSummary summary;
  summary.points = 1;
  summary.graphs = 2;
  summary.labels = 3;
  summary.conflicts = 4;
  EXPECT_EQ(FormatSummary("d\n.sqlite", summary),
            "d\\x0a.sqlite: 1 new points, 2 new graphs, 3 new labels, 4 "
            "conflicting labels\n");
}

const std::vector<zoo::SweepPoint>& SmallSweep() {
  static const std::vector<zoo::SweepPoint> points = {
      {.family = "resnet", .model = "resnet18", .batch = 1},
      {.family = "resnet", .model = "resnet50", .batch = 8},
      {.family = "vgg", .model = "vgg11?bias=false", .batch = 2}};
  return points;
}

TEST(PrintZoo, ListsPointsAsPredictTakesThem) {
  EXPECT_EQ(FormatPoints(SmallSweep(), false),
            "zoo:resnet18 --batch 1\nzoo:resnet50 --batch 8\n"
            "zoo:vgg11?bias=false --batch 2\n");
  const auto json = nlohmann::json::parse(FormatPoints(SmallSweep(), true));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[2]["model"], "zoo:vgg11?bias=false");
  EXPECT_EQ(json[2]["family"], "vgg");
  EXPECT_EQ(json[1]["batch"], 8);
}

TEST(PrintZoo, CountsFamilies) {
  EXPECT_EQ(FormatCounts(SmallSweep(), false), "resnet 2\nvgg 1\ntotal 3\n");
  EXPECT_EQ(nlohmann::json::parse(FormatCounts(SmallSweep(), true)),
            nlohmann::json({{"resnet", 2}, {"vgg", 1}}));
}

TEST(PrintZoo, ListsNamesAndShowsConfigurations) {
  EXPECT_EQ(FormatNames({"a", "b"}, false), "a\nb\n");
  EXPECT_EQ(nlohmann::json::parse(FormatNames({"a", "b"}, true)),
            nlohmann::json({"a", "b"}));
  const auto json = nlohmann::json::parse(
      FormatDescription({.family = "resnet", .json = R"({"layers":[3,4]})"}));
  EXPECT_EQ(json["family"], "resnet");
  EXPECT_EQ(json["configuration"]["layers"][1], 4);
}

TEST(PrintDevices, TablesHaveEveryDeviceAndTheDefaultEnvironment) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const std::string text = FormatDevicesTable(catalog);
  for (const DeviceSpec& device : catalog.devices()) {
    EXPECT_THAT(text, HasSubstr(device.display_name));
  }
  EXPECT_THAT(text, HasSubstr(catalog.DefaultContext().name + " (default)"));
}

TEST(PrintDevices, JsonHasFiguresAndOneDefault) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const auto json = nlohmann::json::parse(FormatDevicesJson(catalog));
  EXPECT_EQ(json["schema_version"], 1);
  ASSERT_EQ(json["devices"].size(), catalog.devices().size());
  const auto& first = json["devices"][0];
  const DeviceSpec& device = catalog.devices().front();
  EXPECT_EQ(first["name"], device.name);
  EXPECT_EQ(first["sms"], device.sms);
  EXPECT_EQ(first["memory_mib"], device.memory_mib);
  EXPECT_EQ(first["mig_profiles"], device.mig_profiles.size());
  int defaults = 0;
  for (const auto& environment : json["environments"]) {
    defaults += environment["default"].get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(defaults, 1);
}

Measurement MeasuredRow() {
  Measurement row{.model = "net.onnx", .batch = 8, .device = "cuda:0"};
  row.status = MeasureStatus::kOk;
  row.latency = {.runs = 30, .median_ms = 1.5, .p5_ms = 1.25, .p95_ms = 2};
  row.memory.peak_allocated_bytes = std::int64_t{3} << 20;
  row.environment = {.device_name = "GPU", .libtorch = "2.13.0", .threads = 2};
  return row;
}

TEST(FormatMeasurements, ShowsWhatWasMeasuredAndDashesForTheRest) {
  const std::string text = FormatMeasurements(std::vector{MeasuredRow()});
  EXPECT_THAT(text, HasSubstr("1.25 – 2"));
  EXPECT_THAT(text, HasSubstr("net.onnx"));
  const std::string row = text.substr(text.find("net.onnx"));
  std::istringstream cells(row.substr(0, row.find('\n')));
  const std::vector<std::string> words{
      std::istream_iterator<std::string>(cells), {}};
  EXPECT_THAT(words,
              ElementsAre("net.onnx", "cuda:0", "inference", "fp32", "8", "ok",
                          "1.5", "1.25", "–", "2", "3", "-", "-", "-"));
}

TEST(FormatMeasurements, SaysOnceWhatADeviceIs) {
  Measurement row = MeasuredRow();
  row.environment.cuda = "13.0";
  row.environment.driver = "580.1";
  row.environment.memory_format = "channels_last";
  row.environment.autocast = true;
  Measurement failed{.model = "net.onnx", .device = "cuda:0"};
  const std::string text =
      FormatMeasurements(std::vector<Measurement>{row, row, failed});
  EXPECT_THAT(text, EndsWith("\ncuda:0: GPU, LibTorch 2.13.0, CUDA 13.0, "
                             "driver 580.1, channels-last, 2 threads\n"));
  EXPECT_EQ(text.find("LibTorch"), text.rfind("LibTorch"));
  EXPECT_THAT(text, HasSubstr("fp32 autocast"));
  EXPECT_THAT(text, HasSubstr("failed"));
}

TEST(FormatMeasurements, NamesTheRuntimeThatRan) {
  Measurement row = MeasuredRow();
  row.environment.libtorch = "onnxruntime 1.32.0";
  row.environment.threads = 0;
  EXPECT_THAT(FormatMeasurements(std::vector{row}),
              EndsWith("\ncuda:0: GPU, onnxruntime 1.32.0\n"));
}

TEST(FormatMeasurements, ShowsHostileNamesHarmless) {
  Measurement row = MeasuredRow();
  row.model = "a\nb";
  row.environment.device_name = "\x1b[31m";
  const std::string text = FormatMeasurements(std::vector{row});
  EXPECT_THAT(text, HasSubstr("a\\x0ab"));
  EXPECT_THAT(text, HasSubstr("\\x1b[31m"));
}

}  // namespace
}  // namespace foretell::cli
