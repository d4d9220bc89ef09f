#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "foretell/run.h"

namespace foretell {

/// Whether a run of `precision` casts weights to 16 bits, as StoredAs does.
constexpr bool CastsWeights(Precision precision) {
  return precision == Precision::kFp16 || precision == Precision::kBf16;
}

/// What a user may not expect of weights of the given types (elements by type,
/// as the file declares them) in a run of `precision`: that they keep a type of
/// their own, are cast from one, have the type already, or, being integers, are
/// not counted as parameters. There is no warning that a precision which the
/// user did not choose leaves types alone, nor for types of less than 1 % of
/// the elements, such as a few double-precision scalars.
std::vector<std::string> WeightWarnings(
    const std::map<DType, std::int64_t>& elements, Precision precision,
    bool chose_precision = true);

/// What a user may want instead of weights in 32 bits if the network is
/// published with weights of type `stated`; empty if `run` has 16 bits or
/// autocasts.
std::string PrecisionHint(DType stated, const Run& run);

}  // namespace foretell
