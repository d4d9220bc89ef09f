#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foretell/dataset.h"

namespace foretell::dataset {

enum class SplitKind {
  kRandom,         ///< Points one by one.
  kConfiguration,  ///< All points of a model go together.
  kFamily,         ///< One family is the test part.
};
/// Reads "random", "configuration" or "family". Throws Error(kInvalidArgument)
/// that lists them.
SplitKind ParseSplitKind(std::string_view name);

/// Shares of the points; the rest is the test part.
inline constexpr double kTrainShare = 0.70;
inline constexpr double kValidationShare = 0.15;

/// Parts ("train", "validation", "test") of all points with a graph.
///
/// Points, or models, are ordered by a hash of their names and `seed`, and cut
/// after 70 and 85 % of the points. The result does not depend on the order of
/// rows: two datasets with the same points are split alike. For kFamily
/// `family` is the test part and the rest is divided 70 : 15 by model; throws
/// Error(kNotFound) that lists the families if there is no such family.
std::map<RowId, std::string> MakeSplit(const std::vector<StoredPoint>& points,
                                       SplitKind kind, std::uint64_t seed,
                                       const std::string& family = {});

/// Families of the points with a graph, sorted.
std::vector<std::string> FamiliesOf(const std::vector<StoredPoint>& points);

}  // namespace foretell::dataset
