#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Share of the products that causal attention computes.
constexpr double kCausalAttentionShare = 0.5;

/// Microseconds of the products of fused attention, which take `at_peak_us` at
/// the peak.
double AttentionUs(const Kernel& kernel, double at_peak_us,
                   const Machine& machine);

/// Microseconds of fused attention in addition to a kernel's floor and the
/// longer of its products and its traffic.
double AttentionStartUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
