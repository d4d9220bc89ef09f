#pragma once

#include <functional>

#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// A table of `batch` (1 to 2^(batches-1)) and `edge` (16, 32, …), every pair
/// of them, and a target that is a function of both.
Table ToyTable(int batches, int edges,
               const std::function<double(double, double)>& target);

}  // namespace foretell::surrogate
