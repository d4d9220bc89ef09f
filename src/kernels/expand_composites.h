#pragma once

#include "src/kernels/expansion.h"

namespace foretell::cost {

/// Emits the kernels of an operator that runs several of them, casts included,
/// and sets its results. False, and nothing done, for every other operator and
/// for one whose operands it does not understand.
bool ExpandComposite(Expansion& expansion, ExpandedNode& expanded);

}  // namespace foretell::cost
