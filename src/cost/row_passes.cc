#include "src/cost/row_passes.h"

#include <algorithm>
#include <cstdint>

#include "src/core/units.h"
#include "src/cost/roofline.h"

// Kernels that go over a row more than once: a layer norm for its statistics
// and then to normalise, a softmax for the largest element, the sum and the
// result. Later passes hit the L2 cache as long as the rows of all blocks that
// run at a time fit in there:
//
//   resident = SMs x blocks per SM x bytes of a row
//   misses   = 0 .. 1 between two values of resident / L2
//
// Softmax over up to 1,024 elements keeps its row in the registers of a warp
// (softmax_warp_forward) and reads it once.
//
// Published FP32 times on A100, L4, V100, T4, P100 and P4 show both: a layer
// norm over 1,024 elements moves its operand and result at 0.88 of the A100's
// bandwidth, one over 8,192 at 0.59 = 0.88 x 2 / 3, one pass more.

namespace foretell::cost {
namespace {

constexpr double kWarpRow = 1024;
/// Of a multiprocessor for a row of a layer norm: an A100 normalises at most
/// 250 rows per microsecond, however short they are.
constexpr double kRowStartCycles = 250;
/// Of rows of f32 that leave most threads of a block idle, on an H100
/// (kinds.jsonl.gz).
constexpr double kHopperRowStartCycles = 350;
constexpr std::int64_t kShortRow = 128;
constexpr std::int64_t kVectorElements = 4;
constexpr double kUnalignedShare = 0.78;

/// A kernel that goes over its rows more than once.
struct RowKernel {
  double threads;       ///< Of a block, which has a row.
  double later_passes;  ///< After the first.
  /// Shares of the L2 cache up to which all later passes hit, and from which on
  /// all miss: fitted.
  double hits_until;
  double misses_from;
};

constexpr RowKernel kLayerNorm = {128, 1, 0.25, 1.0};
constexpr RowKernel kBlockSoftmax = {1024, 2, 0.20, 0.45};
/// On an H100 (kinds.jsonl.gz).
constexpr RowKernel kHopperBlockSoftmax = {1024, 2, 0.3, 1.4};

const RowKernel* RowKernelOf(const Kernel& kernel) {
  if (kernel.kernel_class == KernelClass::kLayerNorm) return &kLayerNorm;
  const bool takes_blocks = kernel.kernel_class == KernelClass::kSoftmax &&
                            kernel.row_step == 1 &&
                            Real(kernel.inner_extent) > kWarpRow;
  return takes_blocks ? &kBlockSoftmax : nullptr;
}

}  // namespace

double RereadBytes(const Kernel& kernel, const Machine& machine) {
  const RowKernel* rows = RowKernelOf(kernel);
  if (rows == nullptr) return 0;
  const double blocks =
      machine.sms * machine.device->ThreadsPerSm() / rows->threads;
  const double resident =
      blocks * Real(kernel.inner_extent * kernel.element_bytes_in);
  const double cache =
      static_cast<double>(machine.device->l2_mib) * kMiB * machine.share;
  const bool is_hopper =
      rows == &kBlockSoftmax && machine.HasNewerTensorCores();
  const auto& [threads, passes, hits_until, misses_from] =
      is_hopper ? kHopperBlockSoftmax : *rows;
  const double misses =
      (resident / cache - hits_until) / (misses_from - hits_until);
  return passes * Real(kernel.bytes_in) * std::clamp(misses, 0.0, 1.0);
}

double RowStartsUs(const Kernel& kernel, const Machine& machine) {
  const std::int64_t row_bytes = kernel.inner_extent * kernel.element_bytes_in;
  if (RowKernelOf(kernel) != &kLayerNorm || row_bytes == 0) return 0;
  const double rows = Real(kernel.bytes_in) / Real(row_bytes);
  const bool is_slow = machine.HasNewerTensorCores() &&
                       kernel.inner_extent <= kShortRow &&
                       kernel.element_bytes_in > kHalfElementBytes;
  return rows * (is_slow ? kHopperRowStartCycles : kRowStartCycles) /
         machine.CyclesPerUs() / machine.sms;
}

double RowAlignmentShare(const Kernel& kernel, const Machine& machine) {
  const bool is_unaligned = !machine.HasNewerTensorCores() &&
                            RowKernelOf(kernel) == &kBlockSoftmax &&
                            kernel.inner_extent % kVectorElements != 0;
  return is_unaligned ? kUnalignedShare : 1;
}

}  // namespace foretell::cost
