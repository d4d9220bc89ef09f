#include "src/cost/pool_time.h"

#include <algorithm>

#include "src/cost/thread_loops.h"

// Poolings, a thread for each result, by their instructions (thread_loops.cc).
//
// A thread of an adaptive pooling goes over the elements of a window, one after
// the other. Few results leave most of a multiprocessor's warps idle, and then
// each element takes as long as memory needs to answer:
//
//   time = max(warps x window x cycles / multiprocessors,
//              waves of blocks x results of a thread x window x latency)
//
// Cycles and latencies are fitted to an H100's operators (kinds.jsonl.gz,
// drawn.jsonl.gz). Averages of channels-last images have a kernel that keeps
// sums of many channels in shared memory: 1.9 cycles for each element of each
// window.

namespace foretell::cost {
namespace {

/// avg_pool2d_out_cuda_frame, and its kernel for channels-last images.
constexpr ThreadCycles kAveragePool = {2.5, 0.08};
constexpr ThreadCycles kAveragePoolChannelsLast = {5.2, 0.25};
/// max_pool_forward_nchw and max_pool_forward_nhwc.
constexpr ThreadCycles kMaxPool = {2.15, 0.215};
/// Poolings of volumes, whatever the FP32 lanes: KernelBench's on an A100 take
/// as many with half as many.
constexpr ThreadCycles kBlockPool = {3.75, 0.17};

constexpr double kWarp = 32;
constexpr double kAdaptiveThreads = 256;  ///< Of a block.
constexpr double kChannelsLastCycles = 1.9;

struct WindowCycles {
  double warp;     ///< Of a multiprocessor, for an element of a warp's windows.
  double latency;  ///< Until a thread has the next element.
};

constexpr WindowCycles kAverage = {6.2, 60};
constexpr WindowCycles kAverageOfVolumes = {9, 100};
constexpr WindowCycles kMaximum = {7.2, 165};
constexpr WindowCycles kMaximumOfVolumes = {12.4, 165};

const WindowCycles& CyclesOf(const Kernel& kernel) {
  const bool is_average = kernel.kernel_class == KernelClass::kAveragePool;
  if (kernel.volume) return is_average ? kAverageOfVolumes : kMaximumOfVolumes;
  return is_average ? kAverage : kMaximum;
}

double AdaptiveUs(const Kernel& kernel, const Machine& machine) {
  const double window = Real(kernel.row_elements);
  const double threads = Real(kernel.rows), blocks = Real(kernel.row_step);
  if (kernel.channels_last &&
      kernel.kernel_class == KernelClass::kAveragePool) {
    return threads * window * kChannelsLastCycles /
           (machine.CyclesPerUs() * machine.sms);
  }
  const WindowCycles& cycles = CyclesOf(kernel);
  const double results = std::max(1.0, threads / (blocks * kAdaptiveThreads));
  const double waiting = Waves(blocks, kAdaptiveThreads, machine) * results *
                         window * cycles.latency;
  const double working = threads / kWarp * window * cycles.warp / machine.sms;
  return std::max(waiting, working) / machine.CyclesPerUs();
}

double VolumeUs(const Kernel& kernel, const Machine& machine) {
  return Real(kernel.rows) *
         (kBlockPool.start + Real(kernel.row_elements) * kBlockPool.element) /
         (machine.CyclesPerUs() * machine.sms);
}

}  // namespace

double PoolUs(const Kernel& kernel, const Machine& machine) {
  const bool is_adaptive = kernel.row_step > 0;
  if (is_adaptive) return AdaptiveUs(kernel, machine);
  if (kernel.variant) return VolumeUs(kernel, machine);
  const bool is_average = kernel.kernel_class == KernelClass::kAveragePool;
  const ThreadCycles& cycles = !is_average            ? kMaxPool
                               : kernel.channels_last ? kAveragePoolChannelsLast
                                                      : kAveragePool;
  return ThreadsUs(Real(kernel.rows), Real(kernel.row_elements), cycles,
                   machine);
}

}  // namespace foretell::cost
