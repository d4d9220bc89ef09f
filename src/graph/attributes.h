#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

/// Attributes of a node by their meaning, for code that indexes or computes
/// with them. GraphBuilder has already checked attributes of its table
/// (attribute_table.h); these functions also check those of other operators, so
/// that no graph causes an out-of-range index.

/// The dimension in attribute `name` of a tensor of `rank`, counted from the
/// front and less than `rank`; `fallback` is used if the attribute is absent.
/// Empty if the tensor has no such dimension, as a scalar has none.
std::optional<std::size_t> DimOf(const Node& node, std::string_view name,
                                 std::size_t rank, std::int64_t fallback = 0);

/// The dimensions that attribute `name` lists, in its order, each less than
/// `rank`; none if it is absent. Empty optional if one of them does not
/// exist.
std::optional<std::vector<std::size_t>> DimsOf(const Node& node,
                                               std::string_view name,
                                               std::size_t rank);

/// As DimsOf for a permutation of all `rank` dimensions, indexed by the
/// result's. Empty optional for anything else.
std::optional<std::vector<std::size_t>> PermutationOf(const Node& node,
                                                      std::string_view name,
                                                      std::size_t rank);

/// The flag `name`: true, false, 1 or 0; `fallback` if absent.
bool FlagOf(const Node& node, std::string_view name, bool fallback = false);

/// The number `name`, integer or not; `fallback` if absent or not finite.
double NumberOf(const Node& node, std::string_view name, double fallback);

/// The text `name`, which points into `node`; empty if absent or not text.
std::string_view TextOf(const Node& node, std::string_view name);

}  // namespace foretell
