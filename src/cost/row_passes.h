#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Extra bytes that a layer norm or softmax reads from device memory, because
/// the rows that run at a time do not stay in the L2 cache between its passes;
/// 0 for every other kernel.
double RereadBytes(const Kernel& kernel, const Machine& machine);

/// Time per row of a layer norm's blocks in addition to traffic, which matters
/// for short rows; 0 for every other kernel.
double RowStartsUs(const Kernel& kernel, const Machine& machine);

/// Share of its usual bandwidth that a softmax over rows too long for one warp
/// reaches if their addresses are not aligned for vector loads; 1 for every
/// other kernel.
double RowAlignmentShare(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
