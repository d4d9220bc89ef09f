#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/graph/attributes.h"
#include "src/parallel/tensor_split.h"

namespace foretell::parallel {

using Values = std::vector<ValueId>;

/// Operands, then results.
inline Values ValuesOf(const Node& node) {
  Values values = node.inputs;
  values.insert(values.end(), node.outputs.begin(), node.outputs.end());
  return values;
}

inline std::int32_t RankOf(const SplitBoard& board, ValueId id) {
  return static_cast<std::int32_t>(board.ShapeOf(id).size());
}

/// Size of a dimension; 1 if the tensor has no such dimension.
inline std::int64_t ExtentOf(const SplitBoard& board, ValueId id,
                             std::int32_t dim) {
  const Shape& shape = board.ShapeOf(id);
  const auto place = static_cast<std::size_t>(dim);
  return place < shape.size() ? shape[place] : 1;
}

/// The dimension of the tensor `id` that an attribute names, as splits count.
inline std::optional<std::int32_t> SplitDimOf(const SplitBoard& board,
                                              const Node& node,
                                              std::string_view name, ValueId id,
                                              std::int64_t fallback = 0) {
  const auto dim = DimOf(node, name, board.ShapeOf(id).size(), fallback);
  return dim ? std::optional(static_cast<std::int32_t>(*dim)) : std::nullopt;
}

/// @name Rules of operators that move elements: as FollowSplits, for nodes with
/// an operand and a result
/// @{
/// One operand and one result with the same elements in their order.
bool FollowReshape(const Node& node, SplitBoard& board);
/// Dimensions in another order.
bool FollowOrder(const Node& node, SplitBoard& board);
/// Splitting or joining along a dimension: pieces must be whole runs if that
/// dimension is shared.
bool FollowPieces(const Node& node, SplitBoard& board);
/// Results without a dimension that the operand has.
bool FollowTaking(const Node& node, SplitBoard& board);
/// A result with a dimension that operands do not have.
bool FollowStacking(const Node& node, SplitBoard& board);
/// Gathers along a dimension that is not shared, by a tensor of indices, and
/// its gradient.
bool FollowGather(const Node& node, SplitBoard& board);
/// Repeats an operand: runs do not change.
bool FollowRepeat(const Node& node, SplitBoard& board);
/// Reads or writes rows of a table by one tensor of indices; the shared
/// dimension must be another one. A node does not state the indexed dimension,
/// so it is inferred from the shapes.
bool FollowIndex(const Node& node, SplitBoard& board);
/// @}

}  // namespace foretell::parallel
