#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Bytes that a layer norm or softmax reads from device memory once more than
/// its operand has, because the rows that run at a time do not stay in the L2
/// cache between its passes; 0 for every other kernel.
double RereadBytes(const Kernel& kernel, const Machine& machine);

/// Time that the blocks of a layer norm need for its rows apart from moving
/// them, which matters for short rows; 0 for every other kernel.
double RowStartsUs(const Kernel& kernel, const Machine& machine);

/// Time of a group norm whose blocks, one for each group of an image, do not
/// fill the GPU; `traffic_us` is the time of its bytes where they do. 0 for
/// every other kernel.
double GroupLoopUs(const Kernel& kernel, const Machine& machine,
                   double traffic_us);

/// Share of its usual bandwidth that a softmax over rows too long for one warp
/// reaches when they do not start at addresses that vector loads require; 1 for
/// every other kernel.
double RowAlignmentShare(const Kernel& kernel);

}  // namespace foretell::cost
