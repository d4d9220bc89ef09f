#include "src/parallel/split_rules.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "src/core/checked.h"
#include "src/parallel/split_moves.h"

// Which dimension of a result is which of an operand, by operator. Whatever is
// not here needs its tensors whole.

namespace foretell::parallel {
namespace {

/// Demands the split at the same place from the end of all `values`; a length
/// of 1 there is whole on every GPU.
bool DemandAligned(const Values& values, std::int32_t from_end,
                   std::int64_t period, std::int64_t extent,
                   SplitBoard& board) {
  for (const ValueId id : values) {
    const std::int32_t dim = RankOf(board, id) - from_end;
    if (dim < 0 || ExtentOf(board, id, dim) == 1) continue;
    if (ExtentOf(board, id, dim) != extent) return false;
    if (!board.Demand(id, {dim, period})) return false;
  }
  return true;
}

bool AlignLike(ValueId id, const Values& values, SplitBoard& board) {
  const Split split = *board.At(id);
  return DemandAligned(values, RankOf(board, id) - split.dim, split.period,
                       ExtentOf(board, id, split.dim), board);
}

/// Whether the last dimensions of `to` are those of `shape`, or lengths of 1.
bool BroadcastsTo(const Shape& shape, const Shape& to) {
  if (shape.size() > to.size()) return false;
  const std::size_t before = to.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && shape[d] != to[before + d]) return false;
  }
  return true;
}

/// The split of a result of shape `to` that one of an operand means. An operand
/// of as many elements in another shape is a view that the trace does not name.
std::optional<Split> SplitOfResult(const Shape& shape, const Split& split,
                                   const Shape& to) {
  if (!BroadcastsTo(shape, to)) return ReshapedSplit(shape, split, to);
  const auto before = static_cast<std::int32_t>(to.size() - shape.size());
  return Split{split.dim + before, split.period};
}

/// Demands of an operand what the split of a result of shape `from` means.
bool DemandOfOperand(ValueId id, const Shape& from, const Split& split,
                     SplitBoard& board) {
  const Shape& shape = board.ShapeOf(id);
  if (!BroadcastsTo(shape, from)) {
    if (CheckedProduct(shape) != CheckedProduct(from)) return false;
    const std::optional<Split> mine = ReshapedSplit(from, split, shape);
    return mine && board.Demand(id, *mine);
  }
  const auto before = static_cast<std::int32_t>(from.size() - shape.size());
  const std::int32_t dim = split.dim - before;
  if (dim < 0 || ExtentOf(board, id, dim) == 1) return true;
  return board.Demand(id, {dim, split.period});
}

/// Operators of single elements, with broadcasting.
bool FollowElements(const Node& node, SplitBoard& board) {
  const Shape shape = board.ShapeOf(node.outputs.front());
  const Values values = ValuesOf(node);
  for (const ValueId output : node.outputs) {
    if (board.ShapeOf(output) != shape) return false;
  }
  for (const ValueId id : values) {
    if (!board.At(id)) continue;
    const std::optional<Split> split =
        SplitOfResult(board.ShapeOf(id), *board.At(id), shape);
    if (!split) return false;
    for (const ValueId other : values) {
      if (!DemandOfOperand(other, shape, *split, board)) return false;
    }
  }
  return true;
}

/// Sums and means over dimensions that no GPU shares.
bool FollowReduction(const Node& node, SplitBoard& board) {
  const ValueId in = node.inputs.front();
  const std::int32_t rank = RankOf(board, in);
  std::vector<bool> is_gone(static_cast<std::size_t>(rank), false);
  const auto dims = DimsOf(node, "dim", is_gone.size());
  if (!dims || dims->empty()) return false;
  for (const std::size_t dim : *dims) is_gone[dim] = true;
  const bool keeps = FlagOf(node, "keepdim");
  std::int32_t place = 0;
  for (std::int32_t dim = 0; dim < rank; ++dim) {
    if (is_gone[static_cast<std::size_t>(dim)]) {
      if (board.At(in) && board.At(in)->dim == dim) return false;
      place += keeps ? 1 : 0;
      continue;
    }
    for (const ValueId out : node.outputs) {
      if (board.At(out) && board.At(out)->dim == place &&
          !board.Demand(in, {dim, board.At(out)->period})) {
        return false;
      }
      if (board.At(in) && board.At(in)->dim == dim &&
          !board.Demand(out, {place, board.At(in)->period})) {
        return false;
      }
    }
    ++place;
  }
  return true;
}

bool FollowSoftmax(const Node& node, SplitBoard& board) {
  const ValueId out = node.outputs.front();
  const auto along = SplitDimOf(board, node, "dim", out, -1);
  if (!along || !FollowElements(node, board)) return false;
  const auto& split = board.At(out);
  return !split || split->dim != *along;
}

/// Norms over last dimensions, by which no GPU shares; weights are whole.
bool FollowNorm(const Node& node, SplitBoard& board) {
  const auto normalized =
      static_cast<std::int32_t>(node.Ints("normalized_shape", {}).size());
  const Values ends = {node.inputs.front(), node.outputs.front()};
  for (const ValueId id : ends) {
    if (!board.At(id)) continue;
    if (board.At(id)->dim >= RankOf(board, id) - normalized) return false;
    if (!AlignLike(id, ends, board)) return false;
  }
  return true;
}

/// Products of matrices that belong to no layer: GPUs share products or rows or
/// columns, but not the sums.
bool FollowProduct(const Node& node, SplitBoard& board) {
  if (node.inputs.size() != 2) return false;
  const ValueId left = node.inputs[0];
  const ValueId right = node.inputs[1];
  const ValueId out = node.outputs.front();
  for (const ValueId id : {left, right, out}) {
    if (RankOf(board, id) < 2) return false;
    if (!board.At(id)) continue;
    const Split split = *board.At(id);
    const std::int32_t from_end = RankOf(board, id) - split.dim;
    if (from_end > 2) {
      if (!AlignLike(id, {left, right, out}, board)) return false;
      continue;
    }
    const bool is_row = from_end == 2;
    if ((id == left && !is_row) || (id == right && is_row)) return false;
    const ValueId other = id == out ? (is_row ? left : right) : out;
    if (!board.Demand(other, {RankOf(board, other) - from_end, split.period})) {
      return false;
    }
  }
  return true;
}

/// Columns of a table, or of its gradient.
bool FollowEmbedding(const Node& node, SplitBoard& board) {
  const ValueId ends[] = {node.inputs.front(), node.outputs.front()};
  for (const int from : {0, 1}) {
    const ValueId here = ends[from];
    const ValueId there = ends[1 - from];
    const std::optional<Split> split = board.At(here);
    if (!split) continue;
    if (split->dim != RankOf(board, here) - 1) return false;
    if (!board.Demand(there, {RankOf(board, there) - 1, split->period})) {
      return false;
    }
  }
  return true;
}

/// Heads: the second of four dimensions. Keys and values may have fewer than
/// queries; masks have all of them or one.
bool FollowHeads(const Node& node, SplitBoard& board) {
  constexpr std::int32_t kHeads = 1;
  constexpr std::size_t kRank = 4;
  const Values values = ValuesOf(node);
  for (const ValueId id : values) {
    if (board.At(id) && board.At(id)->dim != kHeads) return false;
  }
  const std::int64_t heads = ExtentOf(board, node.outputs.front(), kHeads);
  for (const ValueId id : values) {
    const std::size_t rank = board.ShapeOf(id).size();
    if (rank < kRank - 1) continue;
    const std::int64_t extent = ExtentOf(board, id, kHeads);
    const bool has_heads = rank == kRank ? extent > 1 : extent == heads;
    if (has_heads && !board.Demand(id, {kHeads, extent})) return false;
  }
  return true;
}

/// Constants: they read no element of the operand.
bool FollowNothing(const Node& /*node*/, SplitBoard& /*board*/) { return true; }

using Rule = bool (*)(const Node&, SplitBoard&);

struct TargetRow {
  std::string_view targets;  ///< Separated by blanks.
  Rule rule;
};

/// What moves elements; a name is found before a kind.
constexpr TargetRow kTargetRows[] = {
    {"view reshape _unsafe_view _reshape_alias view_as unsqueeze squeeze "
     "flatten unflatten",
     &FollowReshape},
    {"t transpose permute numpy_T swapaxes", &FollowOrder},
    {"split chunk unsafe_split unsafe_chunk split_with_sizes tensor_split "
     "narrow slice slice_backward narrow_backward cat concat index_select",
     &FollowPieces},
    {"gather gather_backward scatter_add", &FollowGather},
    {"select unbind", &FollowTaking},
    {"stack select_backward", &FollowStacking},
    {"expand expand_as detach alias to _to_copy clone contiguous copy_ "
     "type_as lift_fresh",
     &FollowElements},
    {"repeat tile", &FollowRepeat},
    {"index _unsafe_index index_put index_put_ _index_put_impl_", &FollowIndex},
    {"new_zeros new_ones new_empty new_full", &FollowNothing},
    {"mm bmm matmul", &FollowProduct},
    {"embedding embedding_backward", &FollowEmbedding},
    {"sum mean amax amin", &FollowReduction}};

struct KindRow {
  OpKind kind;
  Rule rule;
};

constexpr KindRow kKindRows[] = {{OpKind::kRelu, &FollowElements},
                                 {OpKind::kGelu, &FollowElements},
                                 {OpKind::kSilu, &FollowElements},
                                 {OpKind::kSigmoid, &FollowElements},
                                 {OpKind::kTanh, &FollowElements},
                                 {OpKind::kHardActivation, &FollowElements},
                                 {OpKind::kOtherActivation, &FollowElements},
                                 {OpKind::kActivationBackward, &FollowElements},
                                 {OpKind::kAdd, &FollowElements},
                                 {OpKind::kSubtract, &FollowElements},
                                 {OpKind::kMultiply, &FollowElements},
                                 {OpKind::kDivide, &FollowElements},
                                 {OpKind::kElementwise, &FollowElements},
                                 {OpKind::kCompare, &FollowElements},
                                 {OpKind::kSelect, &FollowElements},
                                 {OpKind::kCast, &FollowElements},
                                 {OpKind::kFill, &FollowElements},
                                 {OpKind::kRandom, &FollowElements},
                                 {OpKind::kDropout, &FollowElements},
                                 {OpKind::kSoftmax, &FollowSoftmax},
                                 {OpKind::kSoftmaxBackward, &FollowSoftmax},
                                 {OpKind::kLayerNorm, &FollowNorm},
                                 {OpKind::kRmsNorm, &FollowNorm},
                                 {OpKind::kAttention, &FollowHeads},
                                 {OpKind::kAttentionBackward, &FollowHeads}};

/// Whether `name` is one of `names`, which blanks separate.
bool IsOneOf(std::string_view names, std::string_view name) {
  for (std::size_t at = names.find(name); at != std::string_view::npos;
       at = names.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || names[at - 1] == ' ') &&
        (end == names.size() || names[end] == ' ')) {
      return true;
    }
  }
  return false;
}

Rule RuleOf(const Node& node) {
  for (const TargetRow& row : kTargetRows) {
    if (IsOneOf(row.targets, node.target)) return row.rule;
  }
  const auto* const row =
      std::ranges::find(kKindRows, node.kind, &KindRow::kind);
  return row == std::end(kKindRows) ? nullptr : row->rule;
}

}  // namespace

bool FollowSplits(const Node& node, SplitBoard& board) {
  if (node.outputs.empty()) return true;
  const Rule rule = RuleOf(node);
  if (rule == &FollowElements || rule == &FollowNothing) {
    return rule(node, board);
  }
  return rule != nullptr && !node.inputs.empty() && rule(node, board);
}

}  // namespace foretell::parallel
