#include "src/cost/adaptive_pool.h"

#include <algorithm>

#include "src/cost/thread_loops.h"

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

constexpr double kWarp = 32;
constexpr double kBlockThreads = 256;
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

}  // namespace

bool IsAdaptivePool(const Kernel& kernel) { return kernel.row_step > 0; }

double AdaptivePoolUs(const Kernel& kernel, const Machine& machine) {
  const double window = Real(kernel.row_elements);
  const double threads = Real(kernel.rows), blocks = Real(kernel.row_step);
  if (kernel.channels_last &&
      kernel.kernel_class == KernelClass::kAveragePool) {
    return threads * window * kChannelsLastCycles /
           (machine.CyclesPerUs() * machine.sms);
  }
  const WindowCycles& cycles = CyclesOf(kernel);
  const double results = std::max(1.0, threads / (blocks * kBlockThreads));
  const double resident =
      machine.sms * machine.device->ThreadsPerSm() / kBlockThreads;
  const double waiting =
      std::max(1.0, blocks / resident) * results * window * cycles.latency;
  const double working = threads / kWarp * window * cycles.warp / machine.sms;
  return std::max(waiting, working) / machine.CyclesPerUs();
}

}  // namespace foretell::cost
