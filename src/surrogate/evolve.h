#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/surrogate/power_sum.h"
#include "src/surrogate/table.h"

// Symbolic regression: a formula is searched for by genetic programming, as in
// the study of a 3D U-Net's memory (docs/fit.md). Population 300, 150
// generations of as many offspring; survivors among parents and offspring are
// selected by a double tournament (the best of three, then of two such the
// smaller one with probability 1.1 / 2). Offspring come from one-point
// crossover, half of them are also mutated, and the constants of each are
// fitted. The result is not the best formula of the last generation, which
// overfits a small table: the constants of the best formula of each size are
// refitted with rows left out, and the result is the smallest one whose
// expected error on other rows is close to the best.

namespace foretell::surrogate {

/// Options of the search.
struct EvolveOptions {
  int population = 300;
  int generations = 150;
  std::uint64_t seed = 0;
  /// Called after each generation with its number, from 1, and the least error.
  std::function<void(int, double)> on_generation = {};
};

/// The best formula of one size.
struct SizedFormula {
  std::size_t size = 0;  ///< Nodes of the expression tree.
  double error = 0;      ///< Mean relative error over the rows of the fit.
  /// What to expect of other rows: the error of rows left out in the fit of the
  /// constants, or error * (rows + constants) / (rows - constants) (Akaike's
  /// final prediction error) if that is larger; infinite without more rows than
  /// constants.
  double expected_error = 0;
  PowerSum formula;
};

/// Result of a search.
struct Evolution {
  /// The front of size against error: sizes grow, errors shrink. Not empty.
  std::vector<SizedFormula> front;
  std::size_t chosen = 0;  ///< Index in the front.

  const PowerSum& formula() const { return front[chosen].formula; }
};

/// Searches for a formula of the target in the inputs. The same table and seed
/// give the same result.
Evolution Evolve(const Table& table, const EvolveOptions& options);

}  // namespace foretell::surrogate
