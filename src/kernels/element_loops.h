#pragma once

#include "src/kernels/expansion.h"

namespace foretell::cost {

/// Sets what `kernel`, the node's own, does for each element where no vector of
/// elements moves at once: `loop`, `rows` threads' worth of elements and the
/// `row_elements` that each goes over; the `serial_steps` of an interpolation;
/// and the bytes of operators that read only part of an operand, or parts of it
/// many times. Leaves kernels of other operators alone.
void SetElementLoop(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel);

}  // namespace foretell::cost
