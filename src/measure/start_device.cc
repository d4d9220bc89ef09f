#include <ATen/DeviceAccelerator.h>
#include <c10/util/Exception.h>
#include <fmt/core.h>

#include "foretell/error.h"
#include "src/measure/accelerator_backend.h"
#include "src/measure/cpu_backend.h"
#include "src/measure/cuda_libtorch.h"
#include "src/measure/device_backend.h"
#include "src/measure/device_name.h"

namespace foretell::measure {
namespace {

[[noreturn]] void RefuseMissing(const std::string& name, int found,
                                const std::string& load_failure) {
  std::string message = fmt::format(
      "device '{}': this LibTorch finds {} CUDA devices{}", name, found,
      found == 0 ? "; --device cpu measures on the CPU" : "");
  if (!load_failure.empty()) message += fmt::format(" ({})", load_failure);
  throw Error(ErrorCode::kNotFound, message);
}

}  // namespace

std::unique_ptr<DeviceBackend> StartDevice(const MeasureRequest& request) {
  const DeviceName name = ParseDeviceName(request.device);
  if (name.kind == DeviceKind::kCpu) {
    return std::make_unique<CpuBackend>(request.options.powercap_folder);
  }
  const std::string load_failure = LoadCudaLibTorch();
  const bool has_cuda = at::accelerator::getAccelerator() == c10::kCUDA;
  const int found = has_cuda ? at::accelerator::deviceCount() : 0;
  if (name.index >= found) RefuseMissing(request.device, found, load_failure);
  const c10::Device device(c10::kCUDA,
                           static_cast<c10::DeviceIndex>(name.index));
  return std::make_unique<AcceleratorBackend>(
      device, name.mig_uuid, NvmlLibraryPath(request.options.nvml_library));
}

}  // namespace foretell::measure
