#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>

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

/// A row of a child that does `work` instead of measuring.
Measurement Work(const std::function<void()>& work,
                 const MeasureRequest& request = IsolatedRequest()) {
  return MeasureIsolated(request, [&work](const MeasureRequest& its) {
    work();
    return FailedMeasurement(its, MeasureStatus::kOk, "");
  });
}

void ExpectEchoes(const Measurement& row) {
  EXPECT_EQ(row.model, "net.onnx");
  EXPECT_EQ(row.batch, 8);
  EXPECT_EQ(row.precision, Precision::kFp16);
  EXPECT_EQ(row.device, "cpu");
  EXPECT_FALSE(row.measured_at.empty());
}

TEST(MeasureIsolated, ReturnsTheRowOfItsChild) {
  Measurement expected =
      FailedMeasurement(IsolatedRequest(), MeasureStatus::kOk, "");
  expected.latency = LatencyStatistics{30, 2, 3, 1, 4};
  expected.memory.peak_allocated_bytes = 1234;
  pid_t child = 0;
  const Measurement row =
      MeasureIsolated(IsolatedRequest(), [&](const MeasureRequest&) {
        child = getpid();
        return expected;
      });
  EXPECT_EQ(MeasurementToJson(row), MeasurementToJson(expected));
  EXPECT_EQ(child, 0);
}

TEST(MeasureIsolated, RecordsAnErrorOfItsChild) {
  const Measurement row =
      Work([] { throw Error(ErrorCode::kCorrupt, "net.onnx: no graph"); });
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_EQ(row.message, "net.onnx: no graph");
  ExpectEchoes(row);
}

TEST(MeasureIsolated, RecordsAFileThatIsNone) {
  const Measurement row = MeasureIsolated(IsolatedRequest());
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_EQ(row.message, "net.onnx: no such file");
  ExpectEchoes(row);
}

TEST(MeasureIsolated, RunsNoStrangersCodeOnAGpuUnlessItIsTrusted) {
  const std::string path =
      testing::TempDir() + "measured_" + std::to_string(getpid()) + ".pt2";
  std::ofstream(path) << "PK\3\4 and so on";
  MeasureRequest request = IsolatedRequest();
  request.model = path;
  request.device = "cuda:0";
  const auto leave = [] { _exit(7); };
  Measurement row = Work(leave, request);
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_THAT(row.message, HasSubstr("--trust"));
  request.model = path + ":model";
  EXPECT_THAT(Work(leave, request).message, HasSubstr("--trust"));
  request.model = path;
  request.options.trusts_code = true;
  EXPECT_THAT(Work(leave, request).message, HasSubstr("status 7"));
  request.options.trusts_code = false;
  request.device = "cpu";
  EXPECT_THAT(Work(leave, request).message, HasSubstr("status 7"));
  std::ofstream(path) << "an ONNX model";
  request.device = "cuda:0";
  EXPECT_THAT(Work(leave, request).message, HasSubstr("status 7"));
  unlink(path.c_str());
}

TEST(MeasureIsolated, RecordsACrash) {
  const Measurement row = Work([] {
    std::cerr << "starting\nterminate called\n";
    std::raise(SIGSEGV);
  });
  EXPECT_EQ(row.status, MeasureStatus::kCrashed);
  EXPECT_EQ(row.message,
            "ended by SIGSEGV (11); its last words: terminate called");
  ExpectEchoes(row);
}

TEST(MeasureIsolated, RecordsAHang) {
  MeasureRequest request = IsolatedRequest();
  request.options.deadline_s = 0.3;
  const Measurement row = Work([] { pause(); }, request);
  EXPECT_EQ(row.status, MeasureStatus::kDeadline);
  EXPECT_EQ(row.message, "killed after 0.3 s");
  ExpectEchoes(row);
}

TEST(MeasureIsolated, RecordsAChildThatLeavesNothing) {
  const Measurement row = Work([] {
    std::cerr << "bad\n";
    _exit(9);
  });
  EXPECT_EQ(row.status, MeasureStatus::kCrashed);
  EXPECT_EQ(row.message, "ended with status 9; its last words: bad");
}

TEST(MeasureIsolated, ShowsItsChildOnlyTheMigInstance) {
  MeasureRequest request = IsolatedRequest();
  request.device = "MIG-01234567-89ab-cdef-0123-456789abcdef";
  const auto tell = [] {
    throw Error(ErrorCode::kInternal, getenv("CUDA_VISIBLE_DEVICES"));
  };
  EXPECT_EQ(Work(tell, request).message,
            "MIG-01234567-89ab-cdef-0123-456789abcdef");
  request.device = "cpu";
  EXPECT_EQ(Work(tell, request).message, "");
}

TEST(MeasureIsolated, RecordsADeviceThatHasNoSuchName) {
  MeasureRequest request = IsolatedRequest();
  request.device = "tpu:0";
  const Measurement row = Work([] {}, request);
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_THAT(row.message, HasSubstr("'tpu:0'"));
}

}  // namespace
}  // namespace foretell
