#include "src/model/input_columns.h"

#include <gtest/gtest.h>

#include "tests/datasets/expect_error.h"

namespace foretell::model {
namespace {

using dataset_test::ExpectError;

const DeviceSpec& A100() {
  return DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
}

TEST(InputColumns, ReadStaticFeaturesByName) {
  const StaticFeatures statics{.macs = 7, .batch = 2, .relus = 5};
  const InputSource source{.statics = &statics};
  EXPECT_EQ(RawInput("macs", source), 7);
  EXPECT_EQ(RawInput("batch", source), 2);
  EXPECT_EQ(RawInput("relus", source), 5);
}

TEST(InputColumns, ReadFiguresOfTheDevice) {
  const InputSource source{.device = &A100(), .precision = Precision::kFp16};
  EXPECT_EQ(RawInput("device.sms", source), 108);
  EXPECT_EQ(RawInput("device.peak_tflops", source), 312);
  for (const std::string& name : DeviceColumnNames()) {
    EXPECT_GT(RawInput(name, source), 0) << name;
  }
}

TEST(InputColumns, ReadTheSettingOfALabel) {
  const Setting setting(R"({"memory_format":"nhwc","threads":4})");
  const InputSource source{.setting = &setting};
  EXPECT_EQ(RawInput("environment.memory_format=nhwc", source), 1);
  EXPECT_EQ(RawInput("environment.memory_format=nchw", source), 0);
  EXPECT_EQ(RawInput("environment.threads=4", source), 1);
  EXPECT_EQ(RawInput("environment.absent=", source), 1);
  ExpectError(ErrorCode::kInvalidArgument, "environment.memory_format",
              [&] { RawInput("environment.memory_format", source); });
}

TEST(InputColumns, ReadThePrior) {
  const TargetValues prior = {1000, 0.25, kUnknown};
  const std::map<std::string, double> figures = {{"gpu_ms", 3}};
  const InputSource source{.prior = &prior, .prior_figures = &figures};
  EXPECT_EQ(RawInput("prior.latency_ms", source), 0.25);
  EXPECT_EQ(RawInput("prior:gpu_ms", source), 3);
  ExpectError(ErrorCode::kInvalidArgument, "prior.energy_j",
              [&] { RawInput("prior.energy_j", source); });
}

TEST(InputColumns, NameWhatIsMissing) {
  ExpectError(ErrorCode::kInvalidArgument, "'device.sms' needs a device",
              [] { RawInput("device.sms", {}); });
  ExpectError(ErrorCode::kInvalidArgument, "'nonsense'",
              [] { RawInput("nonsense", {}); });
}

TEST(InputColumns, HaveMeanZeroAndDeviationOneAfterFitting) {
  // log2(1 + x): 1 and 3, mean 2, deviation 1; the prior's log2(x): 0 and -4.
  const std::vector<double> first = {1, 1};
  const std::vector<double> second = {7, 0.0625};
  const std::vector<const std::vector<double>*> rows = {&first, &second};
  const auto columns = FitColumns({"macs", "prior.latency_ms"}, rows);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 1), -1);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 7), 1);
  EXPECT_FLOAT_EQ(ScaleInput(columns[1], 1), 1);
  EXPECT_FLOAT_EQ(ScaleInput(columns[1], 0.0625), -1);
}

TEST(InputColumns, LeaveConstantsUnscaled) {
  const std::vector<double> row = {3};
  const std::vector<const std::vector<double>*> rows = {&row, &row};
  const auto columns = FitColumns({"batch"}, rows);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 3), 0);
  EXPECT_FLOAT_EQ(ScaleInput(columns[0], 7), 1);
}

}  // namespace
}  // namespace foretell::model
