#pragma once

#include "src/kernels/expansion.h"

namespace foretell::cost {

/// Emits the kernels of the calls that the trace saw inside of an operator.
/// False, and nothing done, if it saw none.
bool ExpandCalls(Expansion& expansion, const ExpandedNode& expanded);

/// Emits the kernels of an operator that runs several of them. False, and
/// nothing done, for every other operator and for one whose
/// operands it does not understand.
bool ExpandComposite(Expansion& expansion, const ExpandedNode& expanded);

}  // namespace foretell::cost
