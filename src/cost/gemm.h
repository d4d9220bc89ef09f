#pragma once

#include "src/cost/machine.h"

namespace foretell::cost {

/// `batch` products of [m, k] by [k, n].
struct GemmShape {
  double batch = 1;
  double m = 0;
  double n = 0;
  double k = 0;
  /// Loads that each element of an operand takes: below 1 for vectors of
  /// elements; 0 where loading never holds up a product.
  double loads = 0;
  /// Sums over many images: divided until all multiprocessors have a part, as
  /// cuDNN 7 does not on a V100 (DeepBench).
  bool divides = false;

  double Macs() const { return batch * m * n * k; }
};

/// Units that a matrix product runs on.
enum class MatrixUnit {
  kTensorCore,
  kWarpgroup,          ///< Hopper's tensor cores, kernels of 16 bits.
  kTensorConvolution,  ///< Tensor cores, kernels made for convolutions.
  kSimt,               ///< FP32 lanes.
  kSimtConvolution,    ///< FP32 lanes, kernels made for convolutions.
};

/// Microseconds of arithmetic of the product at `flops_per_us`, when every SM
/// computes one output tile after another; 0 for an empty product.
double GemmUs(const GemmShape& shape, MatrixUnit unit, double flops_per_us,
              const Machine& machine);

}  // namespace foretell::cost
