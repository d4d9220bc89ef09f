#pragma once

#include <span>
#include <vector>

#include "foretell/cost.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// CPU time of the kernels of a node after its first, in microseconds.
struct KernelDispatch {
  double other_us = 0;  ///< Another kernel's first launch.
  double repeat_us =
      0;  ///< A repeated launch of the same kernel (Kernel::count).

  /// CPU time of all these launches, for the kernels of one node.
  double Us(std::span<const Kernel> kernels) const;
};

/// Kernels of one node that determine its end: at each launch the GPU may wait
/// for the CPU or lag behind it, and the node ends at
///
///   max(GPU free + all kernels, max over launches(queued + left))
///
/// after the node's begin. `gpu_us` has the time of one launch of each kernel,
/// `first_us` is the CPU time until the first. Adjacent kernels with equal
/// counts alternate, as in the steps of a recurrent layer. The maximum over
/// rounds is reached in the first two or the last, so only those are listed.
/// Empty for a single launch.
std::vector<KernelLaunch> LaunchesOf(std::span<const Kernel> kernels,
                                     std::span<const double> gpu_us,
                                     double first_us,
                                     const KernelDispatch& further);

}  // namespace foretell::cost
