#pragma once

#include <Eigen/Core>
#include <string_view>
#include <vector>

#include "src/surrogate/axis.h"

// Experiments instead of a full product: in an orthogonal array of strength 2
// any two columns contain every pair of levels equally often, so that 9 to 27
// runs combine each factor with every level of every other one. Taguchi's L9,
// L16, L18 and L27, built rather than tabulated: columns of L9 and L27 are the
// linear functions over GF(3), one per point of the projective space, those of
// L16 over GF(4); L18 develops a difference scheme of 6 by 6 over Z(3).

namespace foretell::surrogate {

/// Runs by factors; entries are levels, from 0.
struct OrthogonalArray {
  std::string_view name;    ///< "L9".
  std::vector<int> levels;  ///< Number of levels of each column.
  Eigen::MatrixXi runs;     ///< [runs, columns]
};

/// L9 (four factors of 3 levels), L16 (five of 4), L18 (one of 2, seven of 3)
/// and L27 (thirteen of 3).
std::vector<OrthogonalArray> OrthogonalArrays();

/// Points to measure at.
struct PlannedRuns {
  std::string_view array;  ///< "L9", or "one factor".
  Eigen::MatrixXd points;  ///< [runs, axes]
};

/// Points by the smallest array that has a column of as many levels for each
/// axis as it has values; of more than four, as many evenly spread ones as the
/// array has levels are used. One axis alone has no pairs and needs no array:
/// up to nine of its values, once each. Throws Error(kInvalidArgument) if no
/// array has these columns, or a single axis has fewer than three values.
PlannedRuns PlanRuns(const std::vector<Axis>& axes);

}  // namespace foretell::surrogate
