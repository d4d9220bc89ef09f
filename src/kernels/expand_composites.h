#pragma once

#include "src/kernels/expansion.h"

namespace foretell::cost {

/// Emits the kernels of the calls that the trace saw inside of an operator,
/// casts before it included, and sets its results. False, and nothing done,
/// where it saw none.
bool ExpandCalls(Expansion& expansion, ExpandedNode& expanded);

/// Emits the kernels of an operator that runs several of them, casts included,
/// and sets its results. False, and nothing done, for every other operator and
/// for one whose operands it does not understand.
bool ExpandComposite(Expansion& expansion, ExpandedNode& expanded);

}  // namespace foretell::cost
