#include "src/correct/fit_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "tests/cost/test_device.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kFp16};

DeviceRow RowOf(const std::string& body, Precision precision) {
  const std::string header =
      "graph \"g\" precision=" + std::string(PrecisionName(precision)) + "\n";
  return {.graph = ParseGraph(header + body),
          .run = {.precision = precision, .host = Host::kCpp}};
}

std::string TypeName(Precision precision) {
  return precision == Precision::kFp16 ? "f16" : "f32";
}

/// ReLUs in a row.
DeviceRow Chain(int count, std::int64_t elements, Precision precision) {
  const std::string type =
      TypeName(precision) + "[" + std::to_string(elements) + "]";
  std::string text = "%v0 = input " + type + "\n";
  for (int i = 0; i < count; ++i) {
    text += "%v" + std::to_string(i + 1) + " = relu(%v" + std::to_string(i) +
            ") : " + type + "\n";
  }
  return RowOf(text + "output %v" + std::to_string(count) + "\n", precision);
}

DeviceRow Product(std::int64_t size, Precision precision) {
  const std::string edge = std::to_string(size);
  const std::string type = TypeName(precision) + "[" + edge + "," + edge + "]";
  return RowOf("%x = input " + type + "\n%y = linear(%x, weight " + type +
                   ") : " + type + "\noutput %y\n",
               precision);
}

/// A suite; every third row is held out.
std::vector<DeviceRow> Suite() {
  std::vector<DeviceRow> rows;
  for (const Precision precision : kPrecisions) {
    for (const std::int64_t size : {2048, 3072, 4096, 6144, 8192}) {
      rows.push_back(Product(size, precision));
    }
    for (const std::int64_t mib : {256, 384, 512}) {
      rows.push_back(Chain(4, mib << 18, precision));
    }
    for (const std::int64_t mib : {6, 8, 10, 12}) {
      rows.push_back(Chain(60, mib << 18, precision));
    }
    for (const int count : {20, 40, 60}) {
      rows.push_back(Chain(count, 64, precision));
    }
  }
  for (std::size_t i = 2; i < rows.size(); i += 3) rows[i].held_out = true;
  return rows;
}

DeviceConstants Changed() {
  DeviceConstants changed{.device = test::RoundDevice(), .host_factor = 1.4};
  changed.device.launch_us = 4.5;
  changed.device.reached_bandwidth_gb_s = 700;
  changed.device.matmul_tflops = {{Precision::kFp32, 6},
                                  {Precision::kFp16, 210}};
  return changed;
}

std::vector<DeviceRow> RowsOn(const DeviceConstants& machine) {
  std::vector<DeviceRow> rows = Suite();
  for (DeviceRow& row : rows) row.measured_ms = PredictMs(row, machine);
  return rows;
}

TEST(FitDevice, GivesBackTheConstantsOfAChangedDevice) {
  const DeviceConstants changed = Changed();
  const DeviceFit fit =
      FitDevice(RowsOn(changed), {.device = test::RoundDevice()});
  EXPECT_NEAR(fit.found.host_factor, 1.4, 0.01);
  EXPECT_NEAR(fit.found.device.launch_us, 4.5, 4.5 * 0.02);
  EXPECT_NEAR(fit.found.device.reached_bandwidth_gb_s, 700, 7);
  for (const auto& [precision, rate] : changed.device.matmul_tflops) {
    EXPECT_NEAR(fit.found.device.matmul_tflops.at(precision), rate, rate * 0.01)
        << PrecisionName(precision);
  }
  EXPECT_EQ(fit.held_out, 10);
  EXPECT_GT(fit.before.mean, 0.2);
  EXPECT_LT(fit.after.mean, 0.01);
}

TEST(FitDevice, IsNotMovedByARowFarOff) {
  const DeviceConstants changed = Changed();
  std::vector<DeviceRow> rows = RowsOn(changed);
  rows.front().measured_ms *= 5;
  const DeviceFit fit = FitDevice(rows, {.device = test::RoundDevice()});
  EXPECT_NEAR(fit.found.device.matmul_tflops.at(Precision::kFp32), 6, 0.2);
}

TEST(FitDevice, LeavesWhatFitsAlone) {
  const DeviceConstants start{.device = test::RoundDevice()};
  const DeviceFit fit = FitDevice(RowsOn(start), start);
  for (const FittedConstant& constant : fit.constants) {
    EXPECT_NEAR(constant.after / constant.before, 1, 1e-3) << constant.name;
  }
  EXPECT_LT(fit.after.mean, 1e-3);
}

TEST(FitDevice, KeepsWhatNoRowDependsOn) {
  std::vector<DeviceRow> rows;
  for (const int count : {10, 20, 30, 40}) {
    rows.push_back(Chain(count, 64, Precision::kFp32));
    rows.back().measured_ms =
        2 * PredictMs(rows.back(), {.device = test::RoundDevice()});
  }
  const DeviceFit fit = FitDevice(rows, {.device = test::RoundDevice()});
  EXPECT_NEAR(fit.found.host_factor, 2, 0.1);
  EXPECT_NEAR(fit.found.device.matmul_tflops.at(Precision::kFp32), 8.6, 1e-6);
  EXPECT_EQ(fit.held_out, 4);
}

TEST(FitDevice, NeedsARowForEachConstant) {
  std::vector<DeviceRow> rows = RowsOn(Changed());
  rows.resize(3);
  ExpectError([&] { FitDevice(rows, {.device = test::RoundDevice()}); },
              ErrorCode::kInvalidArgument,
              "2 rows to fit, expected at least 4");
}

}  // namespace
}  // namespace foretell
