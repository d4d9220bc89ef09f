#pragma once

#include <Eigen/Core>
#include <vector>

#include "src/surrogate/power_sum.h"
#include "src/surrogate/table.h"

// Footprints are sums of products of edges, each with a coefficient >= 0: a
// constant for the process, so much per element, per element of a face or an
// edge (halos, factors of a matrix product). Families have products of one edge
// at most, of two, of all, and also the squares of edges; rows that are left
// out decide which family it is.

namespace foretell::plan {

/// A fitted footprint.
struct FittedFootprint {
  surrogate::PowerSum bytes;
  double error = 0;          ///< Mean of rows left out, share of 1.
  double largest_error = 0;  ///< Largest of the same.
};

/// Fits the bytes of blocks (columns are the edges) by every family, the least
/// squares of relative errors, and chooses a further one if it leaves less than
/// half the error on rows left out one at a time. Requires two rows.
FittedFootprint FitFootprint(const surrogate::Table& runs);

/// All that the rows leave open: each family that is not much worse than the
/// best, fitted to all rows and without each of them. Requires two rows.
std::vector<surrogate::PowerSum> FitEnsemble(const surrogate::Table& runs);

/// Where an ensemble disagrees.
struct Doubt {
  Eigen::Index candidate = 0;  ///< Row of the largest spread.
  double spread = 0;           ///< Standard deviation there, share of the mean.
};

/// The candidate ([candidates, axes]) about whose bytes the ensemble agrees
/// least. Requires one candidate and a model that is not 0.
Doubt MostDoubted(const std::vector<surrogate::PowerSum>& ensemble,
                  const Eigen::MatrixXd& candidates);

}  // namespace foretell::plan
