#pragma once

#include <span>

namespace foretell {

/// Value below which the share `quantile` (0 to 1) of `sorted` values lies,
/// with linear interpolation between neighbours (numpy's default). Requires at
/// least one value.
double Quantile(std::span<const double> sorted, double quantile);

}  // namespace foretell
