#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Share of the products that causal attention computes.
constexpr double kCausalAttentionShare = 0.5;

/// Share of its peak that fused attention reaches.
double AttentionEfficiency(const Kernel& kernel, const Machine& machine);

/// Microseconds of fused attention in addition to a kernel's floor and the
/// longer of its products and its traffic.
double AttentionStartUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
