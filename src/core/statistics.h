#pragma once

#include <span>
#include <vector>

namespace foretell {

/// Value below which the share `quantile` (0 to 1) of `sorted` values lies,
/// with linear interpolation between neighbours (numpy's default). Requires at
/// least one value.
double Quantile(std::span<const double> sorted, double quantile);

/// Median of values and their median distance from it, robust to outliers.
struct RobustMiddle {
  double median = 0;
  double deviation = 0;  ///< Median of the distances from the median.
};

/// Combines two independent factors of uncertainty: their logarithms add like
/// standard deviations. Requires both > 0; a factor and its inverse are
/// equivalent.
double JointFactor(double factor, double other);

/// Requires at least one value.
RobustMiddle MiddleOf(std::vector<double> values);

}  // namespace foretell
