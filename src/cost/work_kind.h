#pragma once

#include "foretell/cost.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Returns what `kernel` does, by its class and, of a convolution, its window.
WorkKind WorkKindOf(const Kernel& kernel);

}  // namespace foretell::cost
