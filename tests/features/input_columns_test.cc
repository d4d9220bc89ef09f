#include "src/features/input_columns.h"

#include <gtest/gtest.h>

#include "tests/datasets/expect_error.h"
#include "tests/mig/toy_device.h"

namespace foretell::learned {
namespace {

using mig::A100;

using dataset_test::ExpectError;

double Raw(const char* text, const InputSource& source) {
  return RawInput(ParseColumnKey(text), source);
}

TEST(ColumnKey, ComesBackFromItsText) {
  for (const char* text : {"macs", "device.sms", "prior.memory_mib",
                           "prior:compute_ms", "environment.torch=2.4=x"}) {
    EXPECT_EQ(ToString(ParseColumnKey(text)), text);
  }
  EXPECT_EQ(ParseColumnKey("environment.torch=2.4=x"),
            (ColumnKey{ColumnSource::kSetting, "torch", "2.4=x"}));
  EXPECT_EQ(ParseColumnKey("prior:compute_ms"),
            (ColumnKey{ColumnSource::kPriorFigure, "compute_ms"}));
  ExpectError(ErrorCode::kCorrupt, "environment.memory_format",
              [] { ParseColumnKey("environment.memory_format"); });
}

TEST(InputColumns, ReadStaticFeaturesByName) {
  const StaticFeatures statics{.macs = 7, .batch = 2, .relus = 5};
  const InputSource source{.statics = &statics};
  EXPECT_EQ(Raw("macs", source), 7);
  EXPECT_EQ(Raw("batch", source), 2);
  EXPECT_EQ(Raw("relus", source), 5);
}

TEST(InputColumns, ReadFiguresOfTheDevice) {
  const InputSource source{.device = &A100(), .precision = Precision::kFp16};
  EXPECT_EQ(Raw("device.sms", source), 108);
  EXPECT_EQ(Raw("device.peak_tflops", source), 312);
  for (const ColumnKey& key : DeviceColumns()) {
    EXPECT_GT(RawInput(key, source), 0) << ToString(key);
  }
}

TEST(InputColumns, ReadTheSettingOfALabel) {
  const Setting setting(R"({"memory_format":"nhwc","threads":4})");
  const InputSource source{.setting = &setting};
  EXPECT_EQ(Raw("environment.memory_format=nhwc", source), 1);
  EXPECT_EQ(Raw("environment.memory_format=nchw", source), 0);
  EXPECT_EQ(Raw("environment.threads=4", source), 1);
  EXPECT_EQ(Raw("environment.absent=", source), 1);
}

TEST(InputColumns, ReadThePrior) {
  const TargetValues prior = {1000, 0.25, kUnknown};
  const std::map<std::string, double> figures = {{"gpu_ms", 3}};
  const InputSource source{.prior = &prior, .prior_figures = &figures};
  EXPECT_EQ(Raw("prior.latency_ms", source), 0.25);
  EXPECT_EQ(Raw("prior:gpu_ms", source), 3);
  ExpectError(ErrorCode::kInvalidArgument, "prior.energy_j",
              [&] { Raw("prior.energy_j", source); });
}

TEST(InputColumns, NameWhatIsMissing) {
  ExpectError(ErrorCode::kInvalidArgument, "'device.sms' needs a device",
              [] { Raw("device.sms", {}); });
  ExpectError(ErrorCode::kInvalidArgument, "'device.fans' is not known",
              [] { Raw("device.fans", {}); });
  ExpectError(ErrorCode::kInvalidArgument, "'nonsense'",
              [] { Raw("nonsense", {}); });
}

TEST(InputColumns, HaveMeanZeroAndDeviationOneAfterFitting) {
  // log2(1 + x): 1 and 3, mean 2, deviation 1; the prior's log2(x): 0 and -4.
  const std::vector<double> first = {1, 1};
  const std::vector<double> second = {7, 0.0625};
  const std::vector<const std::vector<double>*> rows = {&first, &second};
  const ColumnKey keys[] = {ParseColumnKey("macs"),
                            ParseColumnKey("prior.latency_ms")};
  const auto columns = FitColumns(keys, rows);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 1), -1);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 7), 1);
  EXPECT_FLOAT_EQ(ScaleInput(columns[1], 1), 1);
  EXPECT_FLOAT_EQ(ScaleInput(columns[1], 0.0625), -1);
}

TEST(InputColumns, LeaveConstantsUnscaled) {
  const std::vector<double> row = {3};
  const std::vector<const std::vector<double>*> rows = {&row, &row};
  const ColumnKey keys[] = {ParseColumnKey("batch")};
  const auto columns = FitColumns(keys, rows);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 3), 0);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 7), 1);
}

}  // namespace
}  // namespace foretell::learned
