// Names of devices, versions and UUIDs, and what errors mean.

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "foretell/error.h"
#include "src/measure/cuda_driver.h"
#include "src/measure/device_name.h"
#include "src/measure/failure.h"

namespace foretell::measure {
namespace {

TEST(DeviceName, KnowsThreeKinds) {
  EXPECT_EQ(ParseDeviceName("cpu").kind, DeviceKind::kCpu);
  EXPECT_EQ(ParseDeviceName("cuda").kind, DeviceKind::kCuda);
  EXPECT_EQ(ParseDeviceName("cuda").index, 0);
  EXPECT_EQ(ParseDeviceName("cuda:3").index, 3);
  const DeviceName mig = ParseDeviceName("MIG-GPU-12ab/1/0");
  EXPECT_EQ(mig.kind, DeviceKind::kMig);
  EXPECT_EQ(mig.mig_uuid, "MIG-GPU-12ab/1/0");
}

TEST(DeviceName, RefusesOthers) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1",
                           "cuda:9999", "CPU", "MIG-", "MIG-1,2", "cpu:0"}) {
    EXPECT_THROW(ParseDeviceName(text), Error) << text;
  }
}

TEST(CudaVersions, ReadAsNvidiaWritesThem) {
  EXPECT_EQ(FormatCudaVersion(13000), "13.0");
  EXPECT_EQ(FormatCudaVersion(12080), "12.8");
  EXPECT_EQ(FormatCudnnVersion(91002), "9.10.2");
  EXPECT_EQ(FormatCudnnVersion(8907), "8.9.7");
}

TEST(CudaUuid, IsWrittenInGroups) {
  EXPECT_EQ(FormatUuid({0x00, 0x01, 0x02, 0x03, 0x45, 0x67, 0x89, 0xab, 0xcd,
                        0xef, 0x10, 0x11, 0x12, 0x13, 0x14, 0xff}),
            "00010203-4567-89ab-cdef-1011121314ff");
}

TEST(Failure, TellsOutOfMemoryFromTheTypeOrTheMessage) {
  const c10::OutOfMemoryError torch_error(
      {"f", "file.cpp", 1}, "CUDA out of memory. Tried to allocate 2 GiB");
  EXPECT_EQ(Classify(torch_error).status, MeasureStatus::kOutOfMemory);
  EXPECT_EQ(Classify(std::bad_alloc()).status, MeasureStatus::kOutOfMemory);
  EXPECT_EQ(Classify(Error(ErrorCode::kInvalidArgument,
                           "m.onnx: node 'c': CUDA out of memory. Tried"))
                .status,
            MeasureStatus::kOutOfMemory);
  EXPECT_EQ(StatusOfMessage("CUDA error: out of memory"),
            MeasureStatus::kOutOfMemory);
  EXPECT_EQ(StatusOfMessage("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when"),
            MeasureStatus::kOutOfMemory);
  EXPECT_EQ(StatusOfMessage("DefaultCPUAllocator: can't allocate memory: you"),
            MeasureStatus::kOutOfMemory);
}

TEST(Failure, TakesTheMigAssertionForOutOfMemory) {
  EXPECT_EQ(StatusOfMessage("NVML_SUCCESS == r INTERNAL ASSERT FAILED at "
                            "\"CUDACachingAllocator.cpp\":1016"),
            MeasureStatus::kOutOfMemory);
}

TEST(Failure, TellsAnIllegalAddress) {
  EXPECT_EQ(
      StatusOfMessage("CUDA error: an illegal memory access was encountered"),
      MeasureStatus::kIllegalAddress);
}

TEST(Failure, IsPlainOtherwiseAndKeepsTheFirstLine) {
  const Failure failure =
      Classify(std::runtime_error("shapes do not fit\nat somewhere"));
  EXPECT_EQ(failure.status, MeasureStatus::kFailed);
  EXPECT_EQ(failure.message, "shapes do not fit");
}

}  // namespace
}  // namespace foretell::measure
