#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/measure.h"

namespace foretell {
namespace {

using testing::HasSubstr;

/// Every field differs from its default.
Measurement FullRow() {
  Measurement row{.model = "a \"net\", 1.onnx",
                  .format = "onnx",
                  .mode = Mode::kTraining,
                  .precision = Precision::kBf16,
                  .optimizer = "adam",
                  .batch = 4,
                  .device = "cuda:1",
                  .inputs = {{"x", {DType::kI64, {4, 128}}}},
                  .seed = 3,
                  .status = MeasureStatus::kOk,
                  .message = "none",
                  .measured_at = "2026-01-31T12:00:00Z"};
  row.latency = LatencyStatistics{31, 1.5, 1.75, 1.25, 2.5};
  row.memory = {100, 200, 300, "nvml process", 400, 500};
  row.energy = {0.5, 0.01, 250.0, 60.0, 10.0, 100, 2000, "nvml"};
  row.state = {1410, 1215, 55, 400.0, std::vector<std::string>{"power_cap"}};
  row.environment = {"Fake GPU", "2.13.0", "580.65.06", "13.0",
                     "13.1",     "9.10.2", 1980,        false,
                     8,          true,     true,        true,
                     true,       true,     true,        "channels_last"};
  row.notes = {{"power_limit_w", "NVML: missing"}};
  row.warnings = {"no dropout"};
  return row;
}

Measurement Failed(MeasureStatus status, const std::string& message) {
  MeasureRequest request;
  request.model = "net.onnx";
  return FailedMeasurement(request, status, message);
}

TEST(MeasurementJson, BringsEveryFieldBack) {
  const std::string json = MeasurementToJson(FullRow());
  const Measurement row = MeasurementFromJson(json);
  EXPECT_EQ(MeasurementToJson(row), json);
  EXPECT_EQ(row.model, "a \"net\", 1.onnx");
  EXPECT_EQ(row.mode, Mode::kTraining);
  EXPECT_EQ(row.inputs[0].type, (TensorType{DType::kI64, {4, 128}}));
  EXPECT_EQ(row.latency->p95_ms, 2.5);
  EXPECT_EQ(row.memory.context_bytes, 400);
  EXPECT_EQ(row.energy.idle_power_w, 60);
  EXPECT_EQ(row.state.throttle_reasons->front(), "power_cap");
  EXPECT_EQ(row.environment, FullRow().environment);
  EXPECT_EQ(row.notes, FullRow().notes);
}

TEST(MeasurementJson, HasNoNullWhereEverythingWasMeasured) {
  EXPECT_EQ(MeasurementToJson(FullRow()).find("null"), std::string::npos);
}

TEST(MeasurementJson, KeepsWhatWasNotMeasuredEmpty) {
  const Measurement failed = Failed(MeasureStatus::kOutOfMemory, "too large");
  const std::string json = MeasurementToJson(failed);
  EXPECT_THAT(json, HasSubstr(R"("latency":null)"));
  EXPECT_THAT(json, HasSubstr(R"("energy_j":null)"));
  const Measurement row = MeasurementFromJson(json);
  EXPECT_EQ(row.status, MeasureStatus::kOutOfMemory);
  EXPECT_EQ(row.message, "too large");
  EXPECT_FALSE(row.latency.has_value());
  EXPECT_FALSE(row.memory.peak_allocated_bytes.has_value());
  EXPECT_FALSE(row.energy.energy_j.has_value());
}

TEST(MeasurementJson, ReadsEveryStatusThatItWrites) {
  for (const MeasureStatus status :
       {MeasureStatus::kOk, MeasureStatus::kOutOfMemory,
        MeasureStatus::kMigUnsupported, MeasureStatus::kIllegalAddress,
        MeasureStatus::kDeadline, MeasureStatus::kCrashed,
        MeasureStatus::kFailed}) {
    EXPECT_EQ(ParseMeasureStatus(MeasureStatusName(status)), status);
  }
  EXPECT_EQ(ParseMeasureStatus("fine"), std::nullopt);
}

void ExpectCorrupt(const std::string& json, const std::string& place) {
  try {
    MeasurementFromJson(json);
    FAIL() << json;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr(place));
  }
}

TEST(MeasurementJson, NamesWhatIsWrong) {
  ExpectCorrupt("", "measurement: line 1, column 1: found the end of the text");
  ExpectCorrupt("[1]", "is [1], expected an object");
  ExpectCorrupt("{}", "model is missing");
  ExpectCorrupt(R"({"model": "x"})", "status is missing");
  ExpectCorrupt(R"({"model": "x", "status": "fine"})", "'fine'");
  ExpectCorrupt(R"({"model": "x", "status": "ok", "seed": "y"})",
                "seed is \"y\", expected a whole number >= 0");
  ExpectCorrupt(
      R"({"model": "x", "status": "ok", "inputs": [{"shape": [1, 2.5]}]})",
      "inputs[0].shape[1] is 2.5, expected a whole number");
}

TEST(MeasurementJson, DocumentCarriesItsVersion) {
  const std::string text = MeasurementsToJson(std::vector{FullRow()});
  EXPECT_THAT(text, HasSubstr("\"schema_version\": 1"));
  EXPECT_THAT(text, HasSubstr("\"measurements\": ["));
}

TEST(MeasurementJson, ListsEachEnvironmentOnce) {
  Measurement other = FullRow();
  other.environment.driver = "570.1";
  const Measurement failed = Failed(MeasureStatus::kCrashed, "gone");
  const std::string text =
      EnvironmentsToJson(std::vector{FullRow(), FullRow(), other, failed});
  std::size_t count = 0;
  for (std::size_t at = text.find("\"device\""); at != std::string::npos;
       at = text.find("\"device\"", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 2u);
}

TEST(MeasurementCsv, HasACellForEveryColumn) {
  Measurement row = FullRow();
  row.message = "line one\nand, two";
  const std::string text = MeasurementsToCsv(std::vector{row});
  const std::string header = text.substr(0, text.find('\n'));
  EXPECT_EQ(header.substr(0, 25), "model,format,device,mode,");
  EXPECT_THAT(text, HasSubstr("\n\"a \"\"net\"\", 1.onnx\",onnx,cuda:1,"));
  EXPECT_THAT(text, HasSubstr(",\"line one\\x0aand, two\","));
  EXPECT_THAT(text, HasSubstr(",31,1.5,1.75,1.25,2.5,100,200,300,"));
}

TEST(MeasurementCsv, LeavesCellsEmptyThatWereNotMeasured) {
  const std::string text =
      MeasurementsToCsv(std::vector{Failed(MeasureStatus::kCrashed, "gone")});
  EXPECT_THAT(text, HasSubstr(",crashed,gone,"));
  const std::string line = text.substr(text.find('\n') + 1);
  const std::string header = text.substr(0, text.find('\n'));
  EXPECT_EQ(std::count(line.begin(), line.end(), ','),
            std::count(header.begin(), header.end(), ','));
  EXPECT_THAT(line, HasSubstr(",,,,,,,,,,0,"));  // Runs … context, then RSS.
}

}  // namespace
}  // namespace foretell
