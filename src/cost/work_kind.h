#pragma once

#include "foretell/cost.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

WorkKind WorkKindOf(const Kernel& kernel);

}  // namespace foretell::cost
