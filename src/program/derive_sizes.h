#pragma once

#include <string>
#include <vector>

#include "src/program/input_draft.h"

namespace foretell {

/// Computes what follows from the dimensions of `drafts` that are given, and
/// from the equations that the request `said` for symbols and formulas. What
/// stays open has the size of the file's example, if it has one, and is noted
/// in Draft::from_example.
///
/// Throws Error(kInvalidArgument) that names the input, the dimension, its
/// formula and the flags that give it, for one that has an example, cannot be
/// computed, and follows from sizes that are not those of the example.
void DeriveSizes(std::vector<Draft>& drafts,
                 const std::vector<SizeEquation>& said,
                 const std::string& origin);

}  // namespace foretell
