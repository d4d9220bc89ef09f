#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "foretell/dataset.h"

namespace foretell::dataset {

/// Order in which points are measured, as indices into `points`: inference
/// before training, and within each mode a pseudo-random order whose every
/// prefix is a representative sample.
///
/// Points of one family and batch size form a stratum. Its members, shuffled,
/// are spread evenly over the whole order, so that the first k of n points hold
/// |stratum| · k / n of it, give or take one. The order depends on the points
/// and `seed` only, not on how they are listed.
std::vector<std::size_t> SamplingOrder(std::span<const Point> points,
                                       std::uint64_t seed);

/// A number in [0, 1) from `text` and `seed`, the same everywhere.
double UnitHash(std::string_view text, std::uint64_t seed);

}  // namespace foretell::dataset
