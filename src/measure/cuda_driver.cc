#include "src/measure/cuda_driver.h"

#include <fmt/core.h>

#include "src/measure/shared_library.h"

namespace foretell::measure {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";
constexpr long kFirstCudnnWithFiveDigits = 10000;

// CUDA's driver interface: 0 is success, devices are small integers.
using Init = int(unsigned);
using DriverVersion = int(int*);
using DeviceGet = int(int*, int);
using DeviceUuid = int(unsigned char*, int);

}  // namespace

std::string FormatUuid(const std::array<unsigned char, 16>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

Reading<CudaDriverFacts> AskCudaDriver(int ordinal) {
  using Result = Reading<CudaDriverFacts>;
  const Reading<SharedLibrary> library = SharedLibrary::Open(kLibrary);
  if (!library.value) return Result::Missing("CUDA driver: " + library.reason);
  Init* const init = library.value->Find<Init>("cuInit");
  DriverVersion* const driver_version =
      library.value->Find<DriverVersion>("cuDriverGetVersion");
  DeviceGet* const device_get = library.value->Find<DeviceGet>("cuDeviceGet");
  DeviceUuid* const device_uuid =
      library.value->Find<DeviceUuid>("cuDeviceGetUuid_v2");
  if (init == nullptr || driver_version == nullptr || device_get == nullptr ||
      device_uuid == nullptr) {
    return Result::Missing("CUDA driver: older than CUDA 11.4");
  }
  int version = 0;
  int device = 0;
  std::array<unsigned char, 16> uuid = {};
  for (const int status :
       {init(0), driver_version(&version), device_get(&device, ordinal),
        device_uuid(uuid.data(), device)}) {
    if (status != 0) {
      return Result::Missing(fmt::format("CUDA driver: error {}", status));
    }
  }
  return Result::Of({FormatUuid(uuid), FormatCudaVersion(version)});
}

std::string FormatCudaVersion(long version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string FormatCudnnVersion(long version) {
  const long major_unit = version >= kFirstCudnnWithFiveDigits ? 10000 : 1000;
  return fmt::format("{}.{}.{}", version / major_unit,
                     version % major_unit / 100, version % 100);
}

}  // namespace foretell::measure
