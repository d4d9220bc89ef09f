#pragma once

#include <Eigen/Core>
#include <vector>

#include "src/surrogate/power_sum.h"
#include "src/surrogate/table.h"

// Footprints are sums of products of edges, each with a coefficient >= 0: a
// constant for the process, terms per element and per element of a face or an
// edge (halos, factors of a matrix product). Families have products of one edge
// at most, of two, of all, and also the squares of edges; the leave-one-out
// error selects the family.

namespace foretell::plan {

/// A fitted footprint.
struct FittedFootprint {
  surrogate::PowerSum bytes;
  double error = 0;          ///< Mean of rows left out, share of 1.
  double largest_error = 0;  ///< Largest of the same.
};

/// Fits the bytes of blocks (columns are the edges) with every family by least
/// squares of relative errors, and chooses a larger one if it halves the
/// leave-one-out error. Requires two rows.
FittedFootprint FitFootprint(const surrogate::Table& runs);

/// Models consistent with the rows: each family that is not much worse than the
/// best, fitted to all rows and without each of them. Requires two rows.
std::vector<surrogate::PowerSum> FitEnsemble(const surrogate::Table& runs);

/// The largest disagreement of an ensemble.
struct Doubt {
  Eigen::Index candidate = 0;  ///< Row of the largest spread.
  double spread = 0;           ///< Standard deviation there, share of the mean.
};

/// The candidate ([candidates, axes]) with the largest disagreement about its
/// bytes. Requires one candidate and a model that is not 0.
Doubt MostDoubted(const std::vector<surrogate::PowerSum>& ensemble,
                  const Eigen::MatrixXd& candidates);

}  // namespace foretell::plan
