#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Microseconds that the threads and blocks of PyTorch's own depthwise
/// convolution need, or those of one of its gradients. Requires
/// KernelClass::kNativeDepthwise.
double NativeDepthwiseUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
