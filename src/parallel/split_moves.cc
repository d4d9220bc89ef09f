#include "src/parallel/split_moves.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace foretell::parallel {
namespace {

bool IsEmpty(const SplitBoard& board, ValueId id) {
  return std::ranges::count(board.ShapeOf(id), 0) > 0;
}

/// The operand's dimension by the result's; empty where the attributes do not
/// fit.
std::optional<std::vector<std::size_t>> OrderOf(const Node& node,
                                                std::size_t rank) {
  if (node.target == "permute") return PermutationOf(node, "dims", rank);
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (rank < 2) return order;
  const bool is_matrix = node.target == "t" || node.target == "numpy_T";
  const bool has_axes = node.target == "swapaxes";
  const auto first = DimOf(node, has_axes ? "axis0" : "dim0", rank, 0);
  const auto second = DimOf(node, has_axes ? "axis1" : "dim1", rank, 1);
  if (!is_matrix && (!first || !second)) return std::nullopt;
  std::swap(order[is_matrix ? 0 : *first], order[is_matrix ? 1 : *second]);
  return order;
}

/// Tensors next to each other in a dimension that only one side has: `inner` is
/// without it.
bool FollowSelected(const Node& node, bool is_added, SplitBoard& board) {
  const Values& outer = is_added ? node.outputs : node.inputs;
  const Values& inner = is_added ? node.inputs : node.outputs;
  const auto place = SplitDimOf(board, node, "dim", outer.front());
  if (!place) return false;
  const std::int32_t along = *place;
  const auto demand_inner = [&](const Split& split) {
    const std::int32_t dim = split.dim - (split.dim > along ? 1 : 0);
    return split.dim != along && std::ranges::all_of(inner, [&](ValueId id) {
             return board.Demand(id, {dim, split.period});
           });
  };
  for (const ValueId id : inner) {
    if (!board.At(id)) continue;
    const Split split = *board.At(id);
    const std::int32_t dim = split.dim + (split.dim >= along ? 1 : 0);
    if (!board.Demand(outer.front(), {dim, split.period})) return false;
  }
  const std::optional<Split> whole = board.At(outer.front());
  return !whole || demand_inner(*whole);
}

/// The dimension of a table along which pieces of shape `found` are looked up;
/// empty if shapes leave several, or none.
std::optional<std::int32_t> IndexedDim(const Shape& table, const Shape& index,
                                       const Shape& found) {
  std::optional<std::int32_t> along;
  for (std::size_t d = 0; d < table.size(); ++d) {
    Shape expected(table.begin(), table.begin() + static_cast<long>(d));
    expected.insert(expected.end(), index.begin(), index.end());
    expected.insert(expected.end(), table.begin() + static_cast<long>(d) + 1,
                    table.end());
    if (expected != found) continue;
    if (along) return std::nullopt;
    along = static_cast<std::int32_t>(d);
  }
  return along;
}

}  // namespace

bool FollowReshape(const Node& node, SplitBoard& board) {
  if (node.inputs.empty() || node.outputs.size() != 1) return false;
  const ValueId ends[] = {node.inputs.front(), node.outputs.front()};
  for (const int from : {0, 1}) {
    const ValueId here = ends[from];
    const ValueId there = ends[1 - from];
    if (!board.At(here)) continue;
    const std::optional<Split> split = ReshapedSplit(
        board.ShapeOf(here), *board.At(here), board.ShapeOf(there));
    if (!split || !board.Demand(there, *split)) return false;
  }
  return true;
}

/// A tensor whose dimensions are those of the result before they are turned:
/// the operand itself, or a view of it that the trace does not name.
bool FollowOrder(const Node& node, SplitBoard& board) {
  const ValueId in = node.inputs.front();
  const ValueId out = node.outputs.front();
  const Shape& turned = board.ShapeOf(out);
  const auto order = OrderOf(node, turned.size());
  if (!order) return false;
  Shape straight(turned.size());
  for (std::size_t d = 0; d < order->size(); ++d) {
    straight[(*order)[d]] = turned[d];
  }
  if (const auto& split = board.At(out)) {
    const std::size_t dim = (*order)[static_cast<std::size_t>(split->dim)];
    const auto mine =
        ReshapedSplit(straight, {static_cast<std::int32_t>(dim), split->period},
                      board.ShapeOf(in));
    if (!mine || !board.Demand(in, *mine)) return false;
  }
  if (const auto& split = board.At(in)) {
    const auto mine = ReshapedSplit(board.ShapeOf(in), *split, straight);
    if (!mine) return false;
    const auto place =
        std::ranges::find(*order, static_cast<std::size_t>(mine->dim)) -
        order->begin();
    if (!board.Demand(out, {static_cast<std::int32_t>(place), mine->period})) {
      return false;
    }
  }
  return true;
}

bool FollowPieces(const Node& node, SplitBoard& board) {
  Values values;
  for (const ValueId id : ValuesOf(node)) {
    if (!IsEmpty(board, id)) values.push_back(id);
  }
  const std::int32_t rank = RankOf(board, node.outputs.front());
  const auto along = SplitDimOf(board, node, "dim", node.outputs.front());
  if (!along) return false;
  for (const ValueId id : values) {
    if (RankOf(board, id) != rank) return false;
    if (!board.At(id)) continue;
    const Split split = *board.At(id);
    if (split.dim == *along && (node.Int("start", 0) % split.period != 0 ||
                                node.Int("step", 1) != 1)) {
      return false;
    }
    for (const ValueId other : values) {
      if (!board.Demand(other, split)) return false;
    }
  }
  return true;
}

bool FollowTaking(const Node& node, SplitBoard& board) {
  return FollowSelected(node, /*is_added=*/false, board);
}

bool FollowStacking(const Node& node, SplitBoard& board) {
  return FollowSelected(node, /*is_added=*/true, board);
}

bool FollowGather(const Node& node, SplitBoard& board) {
  const Values values = ValuesOf(node);
  const std::int32_t rank = RankOf(board, node.outputs.front());
  const auto along = SplitDimOf(board, node, "dim", node.outputs.front());
  if (!along) return false;
  for (const ValueId id : values) {
    if (RankOf(board, id) != rank) return false;
    const std::optional<Split> split = board.At(id);
    if (!split) continue;
    for (const ValueId other : values) {
      const bool is_as_long =
          ExtentOf(board, other, split->dim) == ExtentOf(board, id, split->dim);
      if (split->dim == *along || !is_as_long || !board.Demand(other, *split)) {
        return false;
      }
    }
  }
  return true;
}

bool FollowRepeat(const Node& node, SplitBoard& board) {
  const ValueId in = node.inputs.front();
  const ValueId out = node.outputs.front();
  const std::int32_t before = RankOf(board, out) - RankOf(board, in);
  if (const std::optional<Split> split = board.At(in)) {
    if (!board.Demand(out, {split->dim + before, split->period})) return false;
  }
  if (const std::optional<Split> split = board.At(out)) {
    const std::int32_t dim = split->dim - before;
    return dim >= 0 && board.Demand(in, {dim, split->period});
  }
  return true;
}

bool FollowIndex(const Node& node, SplitBoard& board) {
  const bool writes = node.target.find("index_put") != std::string::npos;
  if (node.inputs.size() != (writes ? 3U : 2U)) return false;
  const ValueId index = node.inputs[1];
  const ValueId pieces = writes ? node.inputs[2] : node.outputs.front();
  Values tables = {node.inputs.front()};
  if (writes) tables.push_back(node.outputs.front());
  const std::optional<std::int32_t> along =
      IndexedDim(board.ShapeOf(tables.front()), board.ShapeOf(index),
                 board.ShapeOf(pieces));
  const bool is_mask = board.graph().value(index).type.dtype == DType::kBool;
  if (!along || is_mask || board.At(index)) return false;
  const std::int32_t shift = RankOf(board, index) - 1;
  std::optional<Split> split = board.At(pieces);
  if (split) {
    if (split->dim >= *along && split->dim <= *along + shift) return false;
    if (split->dim > *along) split->dim -= shift;
  }
  for (const ValueId table : tables) {
    if (!split) split = board.At(table);
  }
  if (!split) return true;
  const Split of_pieces{split->dim + (split->dim > *along ? shift : 0),
                        split->period};
  return split->dim != *along && board.Demand(pieces, of_pieces) &&
         std::ranges::all_of(tables, [&](ValueId table) {
           return board.Demand(table, *split);
         });
}

}  // namespace foretell::parallel
