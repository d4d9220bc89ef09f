#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/measure.h"

namespace foretell {
namespace {

using testing::HasSubstr;

MeasureRequest IsolatedRequest() {
  return {.model = "net.onnx",
          .inputs = {.batch = 8},
          .run = {.precision = Precision::kFp16},
          .device = "cpu",
          .options = {.deadline_s = 60}};
}

/// A worker that is a shell script; $1 is the request.
Measurement Work(const std::string& script,
                 const MeasureRequest& request = IsolatedRequest()) {
  return MeasureIsolated(request, {"/bin/sh", "-c", script, "worker"});
}

void ExpectEchoes(const Measurement& row) {
  EXPECT_EQ(row.model, "net.onnx");
  EXPECT_EQ(row.batch, 8);
  EXPECT_EQ(row.precision, Precision::kFp16);
  EXPECT_EQ(row.device, "cpu");
  EXPECT_FALSE(row.measured_at.empty());
}

TEST(MeasureIsolated, ReturnsTheRowOfTheWorker) {
  Measurement expected =
      FailedMeasurement(IsolatedRequest(), MeasureStatus::kOk, "");
  expected.latency = LatencyStatistics{30, 2, 3, 1, 4};
  expected.memory.peak_allocated_bytes = 1234;
  const Measurement row =
      Work("echo '" + MeasurementToJson(expected) + "' >&3");
  EXPECT_EQ(MeasurementToJson(row), MeasurementToJson(expected));
}

TEST(MeasureIsolated, HandsTheWorkerItsRequest) {
  const Measurement row = Work("echo \"$1\" >&2; kill -ABRT $$");
  EXPECT_THAT(row.message, HasSubstr(RequestToJson(IsolatedRequest())));
}

TEST(MeasureIsolated, RunsNoStrangersCodeOnAGpuUnlessItIsTrusted) {
  const std::string path =
      testing::TempDir() + "measured_" + std::to_string(getpid()) + ".pt";
  std::ofstream(path) << "PK\3\4 and so on";
  MeasureRequest request = IsolatedRequest();
  request.model = path;
  request.device = "cuda:0";
  Measurement row = Work("exit 7", request);
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_THAT(row.message, HasSubstr("--trust"));
  request.options.trusts_code = true;
  EXPECT_THAT(Work("exit 7", request).message, HasSubstr("exit status 7"));
  request.options.trusts_code = false;
  request.device = "cpu";
  EXPECT_THAT(Work("exit 7", request).message, HasSubstr("exit status 7"));
  std::ofstream(path) << "an ONNX model";
  request.device = "cuda:0";
  EXPECT_THAT(Work("exit 7", request).message, HasSubstr("exit status 7"));
  unlink(path.c_str());
}

TEST(MeasureIsolated, RecordsACrash) {
  const Measurement row =
      Work("echo starting; echo 'terminate called' >&2; kill -SEGV $$");
  EXPECT_EQ(row.status, MeasureStatus::kCrashed);
  EXPECT_EQ(row.message,
            "ended by SIGSEGV (11); its last words: terminate called");
  ExpectEchoes(row);
}

TEST(MeasureIsolated, RecordsAHang) {
  MeasureRequest request = IsolatedRequest();
  request.options.deadline_s = 0.3;
  const Measurement row = Work("sleep 600", request);
  EXPECT_EQ(row.status, MeasureStatus::kDeadline);
  EXPECT_EQ(row.message, "killed after 0.3 s");
  ExpectEchoes(row);
}

TEST(MeasureIsolated, RecordsAWorkerThatLeavesNothing) {
  const Measurement row = Work("echo bad >&2; exit 9");
  EXPECT_EQ(row.status, MeasureStatus::kCrashed);
  EXPECT_EQ(row.message, "exit status 9 without a result; its last words: bad");
}

TEST(MeasureIsolated, RecordsAWorkerThatLeavesHalfARow) {
  EXPECT_EQ(Work("echo '{\"model\": \"net' >&3").status,
            MeasureStatus::kCrashed);
  EXPECT_EQ(Work("echo '{}' >&3").status, MeasureStatus::kCrashed);
}

TEST(MeasureIsolated, DoesNotTrustTheRowOfAWorkerThatCrashes) {
  const std::string json = MeasurementToJson(
      FailedMeasurement(IsolatedRequest(), MeasureStatus::kOk, ""));
  EXPECT_EQ(Work("echo '" + json + "' >&3; kill -SEGV $$").status,
            MeasureStatus::kCrashed);
}

TEST(MeasureIsolated, ShowsTheWorkerOnlyTheMigInstance) {
  MeasureRequest request = IsolatedRequest();
  request.device = "MIG-01234567-89ab-cdef-0123-456789abcdef";
  const Measurement row =
      Work("echo \"$CUDA_VISIBLE_DEVICES\" >&2; exit 1", request);
  EXPECT_THAT(row.message,
              HasSubstr("MIG-01234567-89ab-cdef-0123-456789abcdef"));
}

TEST(MeasureIsolated, RecordsADeviceThatHasNoSuchName) {
  MeasureRequest request = IsolatedRequest();
  request.device = "tpu:0";
  const Measurement row = Work("exit 0", request);
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_THAT(row.message, HasSubstr("'tpu:0'"));
}

TEST(MeasureIsolated, ThrowsWhenThereIsNoWorker) {
  EXPECT_THROW(MeasureIsolated(IsolatedRequest(), {"/nowhere/worker"}), Error);
}

}  // namespace
}  // namespace foretell
