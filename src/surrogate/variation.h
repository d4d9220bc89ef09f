#pragma once

#include "src/core/random.h"
#include "src/surrogate/expression.h"

namespace foretell::surrogate {

/// Expressions are not made larger than this many nodes…
inline constexpr std::size_t kMostNodes = 40;
/// …nor multiplied out to higher powers than this.
inline constexpr int kMostDegree = 9;

/// True if an expression is within both limits.
bool IsSmallEnough(const Expression& expression);

/// A random expression over `inputs` columns, at most `depth` operations deep;
/// `full`: each path is as deep as that, else it may end earlier.
Expression Draw(int inputs, int depth, bool full, Random& random);

/// Half of them full, half not, of 1 to 3 operations in depth.
Expression DrawHalfAndHalf(int inputs, Random& random);

/// Exchanges one subtree of `a` by one of `b`, both drawn: one-point crossover.
Expression CrossOver(const Expression& a, const Expression& b, Random& random);

/// Changes the expression by one of five mutations, drawn: a random subtree
/// instead of another, another operation of as many operands (or another
/// leaf), other constants, an operation inserted above a subtree, an operation
/// replaced by one of its operands.
Expression Mutate(const Expression& expression, int inputs, Random& random);

}  // namespace foretell::surrogate
