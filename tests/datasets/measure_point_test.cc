#include "datasets/collect/measure_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "datasets/collect/device_name.h"
#include "expect_error.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using testing::HasSubstr;

LabelTask TaskOf(const std::string& inputs) {
  LabelTask task;
  task.point.point = {.model = "bert",
                      .family = "bert",
                      .format = "onnx",
                      .path = "models/bert.onnx",
                      .batch = 8,
                      .mode = Mode::kTraining,
                      .precision = Precision::kBf16,
                      .optimizer = "adam",
                      .inputs = inputs,
                      .image_size = {}};
  return task;
}

Measurement GoodRow() {
  Measurement row{.model = "net.onnx", .batch = 8, .device = "cuda:0"};
  row.status = MeasureStatus::kOk;
  row.measured_at = "2026-01-31T12:00:00Z";
  row.latency = {.runs = 30, .median_ms = 1.5};
  row.memory.process_bytes = std::int64_t{512} << 20;
  row.memory.peak_allocated_bytes = std::int64_t{3} << 19;
  row.energy.energy_j = 0.25;
  row.environment.device_name = "GPU";
  return row;
}

TEST(LabelOfAMeasurement, HasFiguresInTheUnitsOfLabels) {
  const Label label = LabelOf(GoodRow());
  EXPECT_EQ(label.status, LabelStatus::kOk);
  EXPECT_EQ(label.memory_mib, 512);
  EXPECT_EQ(label.allocated_mib, 1.5);
  EXPECT_FALSE(label.reserved_mib.has_value());
  EXPECT_EQ(label.latency_ms, 1.5);
  EXPECT_EQ(label.energy_j, 0.25);
  EXPECT_EQ(label.measured_at, "2026-01-31T12:00:00Z");
  EXPECT_EQ(label.reason, "");
}

TEST(LabelOfAMeasurement, KeepsInDetailsWhatHasNoColumn) {
  const Label label = LabelOf(GoodRow());
  const auto details = nlohmann::json::parse(label.details);
  EXPECT_EQ(details["latency"]["runs"], 30);
  for (const char* known : {"environment", "model", "batch", "device",
                            "measured_at", "message", "mode"}) {
    EXPECT_FALSE(details.contains(known)) << known;
  }
  const auto environment = nlohmann::json::parse(label.setting);
  EXPECT_EQ(environment["device_name"], "GPU");
}

TEST(LabelOfAMeasurement, OfAFailureHasAReasonAndNoFigures) {
  for (const auto& [status, expected] :
       {std::pair(MeasureStatus::kOutOfMemory, LabelStatus::kOutOfMemory),
        std::pair(MeasureStatus::kDeadline, LabelStatus::kFailed),
        std::pair(MeasureStatus::kCrashed, LabelStatus::kFailed)}) {
    Measurement row = GoodRow();
    row.status = status;
    row.message = "so";
    const Label label = LabelOf(row);
    EXPECT_EQ(label.status, expected);
    EXPECT_EQ(label.reason, std::string(MeasureStatusName(status)) + ": so");
    for (const LabelQuantity& quantity : LabelQuantities()) {
      EXPECT_FALSE((label.*quantity.value).has_value()) << quantity.name;
    }
  }
}

TEST(RequestFor, IsThePointAsItsTraceHadIt) {
  LabelTask task = TaskOf("ids=i64[8,77]; mask=bool[8,77]");
  task.with_energy = false;
  const MeasureRequest request = RequestFor(
      task, {.device = "cuda:1", .options = {.energy = true, .deadline_s = 9}});
  EXPECT_EQ(request.model, "models/bert.onnx");
  EXPECT_EQ(request.device, "cuda:1");
  EXPECT_EQ(request.inputs.batch, 8);
  ASSERT_EQ(request.inputs.inputs.size(), 2u);
  EXPECT_EQ(request.inputs.inputs[0].name, "ids");
  EXPECT_EQ(ToString(request.inputs.inputs[1].type), "bool[8,77]");
  EXPECT_EQ(request.run.mode, Mode::kTraining);
  EXPECT_EQ(request.run.precision, Precision::kBf16);
  EXPECT_EQ(request.run.optimizer, Optimizer::kAdam);
  EXPECT_EQ(request.run.host, Host::kCpp);
  EXPECT_FALSE(request.options.energy);
  EXPECT_EQ(request.options.deadline_s, 9);
}

TEST(RequestFor, UnderAutocastStartsFromFp32) {
  const MeasureRequest request =
      RequestFor(TaskOf(""), {.run = {.autocast = true}});
  EXPECT_EQ(request.run.precision, Precision::kFp32);
  EXPECT_TRUE(request.run.autocast);
  EXPECT_TRUE(request.inputs.inputs.empty());
}

TEST(MeasureSource, TellsRunsApart) {
  EXPECT_EQ(MeasureSource({}), "foretell measure");
  EXPECT_EQ(MeasureSource({.autocast = true}), "foretell measure --autocast");
  EXPECT_EQ(MeasureSource({.autocast = true, .channels_last = true}),
            "foretell measure --autocast --channels-last");
  EXPECT_EQ(MeasureSource({.grad_mode = true}), "foretell measure --grad");
}

TEST(MeasuredDeviceName, IsTheCataloguesWhereItHasIt) {
  EXPECT_EQ(LabelDeviceName("a100"), "a100-sxm4-40gb");
  EXPECT_EQ(LabelDeviceName("toaster"), "toaster");
  EXPECT_EQ(MeasuredDeviceName("cuda:0", "a100"), "a100-sxm4-40gb");
  EXPECT_EQ(MeasuredDeviceName("cuda:0", "toaster"), "toaster");
  EXPECT_EQ(MeasuredDeviceName("cpu", ""), "cpu");
  EXPECT_EQ(MeasuredDeviceName("cpu", "epyc"), "epyc");
  ExpectError(ErrorCode::kInvalidArgument, "cuda:0 does not name a GPU model",
              [] { MeasuredDeviceName("cuda:0", ""); });
}

}  // namespace
}  // namespace foretell::dataset
