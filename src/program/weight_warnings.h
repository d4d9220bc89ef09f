#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

/// What a user may not expect of weights of the given types (elements by type,
/// as the file declares them) in a run of `precision`: that they keep a type of
/// their own, are cast from one, have the type already, or, being integers, are
/// not counted as parameters. That a default leaves types alone, which nobody
/// chose, goes without saying. Types of less than 1 % of the elements, such as
/// a few double-precision scalars, are not worth a word.
std::vector<std::string> WeightWarnings(
    const std::map<DType, std::int64_t>& elements, Precision precision,
    bool chose_precision = true);

}  // namespace foretell
