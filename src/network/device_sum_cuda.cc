#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "src/core/failure.h"
#include "src/network/device_sum.h"
#include "src/network/segment_mean.h"

namespace foretell::learned {

bool HasDeviceSum() { return true; }

void RunDeviceSum(const SegmentSum<float>& sum, const c10::Device& device) {
  const c10::cuda::CUDAGuard guard(device);
  const int error = LaunchSegmentSum(
      sum, c10::cuda::getCurrentCUDAStream(device.index()).stream());
  if (error == 0) return;
  throw InternalFailure("segmented sum: {}", CudaErrorText(error));
}

}  // namespace foretell::learned
