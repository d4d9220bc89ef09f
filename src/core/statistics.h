#pragma once

#include <span>
#include <vector>

namespace foretell {

/// Value below which the share `quantile` (0 to 1) of `sorted` values lies,
/// with linear interpolation between neighbours (numpy's default). Requires at
/// least one value.
double Quantile(std::span<const double> sorted, double quantile);

/// The middle of values, and how far they lie from it, whatever a few outliers
/// do.
struct RobustMiddle {
  double median = 0;
  double deviation = 0;  ///< Median of the distances from the median.
};

/// Two independent factors of uncertainty as one: their logarithms add up as
/// standard deviations do. Both above 0; neither direction matters.
double JointFactor(double factor, double other);

/// Requires at least one value.
RobustMiddle MiddleOf(std::vector<double> values);

}  // namespace foretell
