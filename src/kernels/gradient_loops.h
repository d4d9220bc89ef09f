#pragma once

#include "src/kernels/expansion.h"

namespace foretell::cost {

/// Sets what `kernel`, a backward operator's own, goes over: `loop`, `rows` and
/// `row_elements` as GradientUs (src/cost/gradient_time.h) counts them, and the
/// bytes of operators that are given their input for its shape alone. Leaves
/// kernels of other operators alone.
void SetGradientLoop(const Expansion& expansion, const ExpandedNode& expanded,
                     Kernel& kernel);

}  // namespace foretell::cost
