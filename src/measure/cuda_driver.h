#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "src/measure/reading.h"

namespace foretell::measure {

/// "aabbccdd-eeff-…": 16 bytes as CUDA and NVML write a UUID, without "GPU-".
std::string FormatUuid(const std::array<unsigned char, 16>& bytes);

/// Facts that the CUDA driver reports about device `ordinal` of this process.
/// Neither call makes a context, so neither uses device memory.
struct CudaDriverFacts {
  std::string uuid;     ///< FormatUuid; a MIG instance has its own.
  std::string version;  ///< Newest CUDA that the driver supports, "13.0".
};
Reading<CudaDriverFacts> AskCudaDriver(int ordinal);

/// "13.0" for CUDA's number 13000.
std::string FormatCudaVersion(long version);
/// "9.10.2" for cuDNN's number 91002; "8.9.7" for 8907, as versions below 9
/// count.
std::string FormatCudnnVersion(long version);

}  // namespace foretell::measure
