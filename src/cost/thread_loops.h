#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Cycles of a multiprocessor for a thread and, with 128 FP32 lanes, for each
/// element of its window.
struct ThreadCycles {
  double start;
  double element;
};

/// Microseconds that the instructions of `threads` take, each of which goes
/// over `elements`.
double ThreadsUs(double threads, double elements, const ThreadCycles& cycles,
                 const Machine& machine);

/// Rounds in which the multiprocessors take blocks of `threads` threads, at
/// least 1.
double Waves(double blocks, double threads, const Machine& machine);

/// Microseconds of such blocks that need `cycles` each, one wave after the
/// other.
double BlocksUs(double blocks, double threads, double cycles,
                const Machine& machine);

/// Blocks of a softmax along another dimension than the last: a thread for each
/// neighbour, or several that share its elements (SpatialSoftMax_getBlockSize
/// in aten/src/ATen/native/cuda/SoftMax.cu).
struct SpatialBlocks {
  double count;
  double threads;  ///< Of a block.
  double steps;    ///< Elements that a thread goes over.
};
/// Requires a kernel with rows, row_elements and row_step above 0.
SpatialBlocks SpatialBlocksOf(const Kernel& kernel);

/// Microseconds that the threads of `kernel` need for their instructions and
/// for what they wait for, one step after the other, where that can exceed its
/// traffic: poolings, copies across memory, sums, norms, softmaxes and scans
/// along rows. `traffic_us` is the time of its bytes on a full GPU. 0 for every
/// other kernel.
double LoopUs(const Kernel& kernel, const Machine& machine, double traffic_us);

/// The same for a convolution of f32 in groups, transposed with a stride and a
/// window that is not square or, before cuDNN 9.10 (KernelBench's ShuffleNet on
/// an A100 and an H100), of windows of one element, for which cuDNN falls back
/// to direct kernels; 0 for every other one.
double DirectLoopUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
