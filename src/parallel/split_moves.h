#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

inline std::int64_t ExtentOf(const SplitBoard& board, ValueId id,
                             std::int32_t dim) {
  return board.ShapeOf(id)[static_cast<std::size_t>(dim)];
}

/// The dimension that an attribute says, counted from the front.
inline std::int32_t DimOf(const Node& node, std::string_view name,
                          std::int32_t rank, std::int64_t fallback = 0) {
  const std::int64_t dim = node.Int(name, fallback);
  return static_cast<std::int32_t>(dim < 0 ? dim + rank : dim);
}

/// @name Rules of operators that move elements: as FollowSplits
/// @{
/// One operand and one result with the same elements in their order.
bool FollowReshape(const Node& node, SplitBoard& board);
/// Dimensions in another order.
bool FollowOrder(const Node& node, SplitBoard& board);
/// Pieces along a dimension, of a tensor or to make one: they are whole runs
/// where it is the one that is shared.
bool FollowPieces(const Node& node, SplitBoard& board);
/// Results without a dimension that the operand has.
bool FollowTaking(const Node& node, SplitBoard& board);
/// A result with a dimension that operands do not have.
bool FollowStacking(const Node& node, SplitBoard& board);
/// Elements along one dimension, which is not the one that is shared, by a
/// tensor of indices, or their gradient.
bool FollowGather(const Node& node, SplitBoard& board);
/// An operand several times over: runs stay what they are.
bool FollowRepeat(const Node& node, SplitBoard& board);
/// Rows of a table by one tensor of indices, read or written: what is shared is
/// another dimension. A node does not say along which dimension it looks up, so
/// shapes have to.
bool FollowIndex(const Node& node, SplitBoard& board);
/// @}

}  // namespace foretell::parallel
