#pragma once

#include <cmath>

namespace foretell::cost {

/// `count` rounded up to a multiple of `step` (> 0), of the same unit.
inline double PaddedTo(double count, double step) {
  return std::ceil(count / step) * step;
}

}  // namespace foretell::cost
