#pragma once

#include "src/cost/machine.h"

namespace foretell::cost {

/// Watts of the machine while a kernel uses `compute` of the arithmetic and
/// `memory` of the bandwidth, both 0..1. A slice counts its share of the board.
double BusyPowerW(const Machine& machine, double compute, double memory);

/// Watts of the machine when nothing runs on it.
double IdlePowerW(const Machine& machine);

/// Watts between two kernels of a running step.
double GapPowerW(const Machine& machine);

}  // namespace foretell::cost
