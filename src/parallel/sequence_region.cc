#include "src/parallel/sequence_region.h"

#include <algorithm>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/graph/collective.h"
#include "src/graph/index_of.h"
#include "src/parallel/split_moves.h"
#include "src/parallel/split_rules.h"

namespace foretell::parallel {
namespace {

/// Layers and attention, which need all tokens.
bool NeedsAllTokens(OpKind kind) {
  return kind == OpKind::kLinear || kind == OpKind::kMatmul ||
         kind == OpKind::kEinsum || kind == OpKind::kAttention ||
         kind == OpKind::kAttentionBackward || kind == OpKind::kCollective;
}

bool IsSum(const Node& node) { return node.target == kAllReduce; }

}  // namespace

SequenceRegion::SequenceRegion(const OperatorGraph& graph,
                               const ParallelSpec& spec)
    : SplitBoard(graph),
      spec_(spec),
      works_(graph.nodes().size(), SequenceWork::kWhole),
      is_partial_(graph.values().size(), false),
      readers_(graph.values().size()) {
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    if (graph.node(id).phase == Phase::kOptimizer) continue;
    for (const ValueId input : graph.node(id).inputs) {
      readers_[IndexOf(input)].push_back(id);
    }
  }
  FindTokens();
  FindSums();
  Spread();
  KeepLocalSums();
}

/// Of the first sum, or of a view of it.
void SequenceRegion::FindTokens() {
  constexpr std::size_t kRank = 3;
  for (const Node& node : graph().nodes()) {
    if (!IsSum(node)) continue;
    ValueId sum = node.outputs.front();
    for (const NodeId reader : readers_[IndexOf(sum)]) {
      const Node& view = graph().node(reader);
      if (ShapeOf(sum).size() < kRank && view.kind == OpKind::kView) {
        sum = view.outputs.front();
      }
    }
    if (ShapeOf(sum).size() == kRank) tokens_ = ShapeOf(sum)[1];
    break;
  }
  if (tokens_ > 0 && tokens_ % spec_.gpus == 0) return;
  if (tokens_ > 0) {
    throw InvalidArgument(
        "{}: sequences have {}, which {} GPUs cannot share "
        "evenly",
        ToString(spec_), Counted(tokens_, "token"), spec_.gpus);
  }
  throw InvalidArgument(
      "{}: results of layers are not [batch, tokens, features]",
      ToString(spec_));
}

Split SequenceRegion::SplitOf(ValueId id) const {
  const Shape& shape = ShapeOf(id);
  if (shape.size() > 2 && shape[1] == tokens_) return {1, tokens_};
  if (shape.size() == 2 && shape[0] % tokens_ == 0) return {0, tokens_};
  throw InvalidArgument("{}: '{}' does not have {} in each sequence",
                        ToString(spec_), graph().value(id).name,
                        Counted(tokens_, "token"));
}

void SequenceRegion::FindSums() {
  for (NodeId id = 0; id < std::ssize(graph().nodes()); ++id) {
    const Node& node = graph().node(id);
    if (node.phase == Phase::kOptimizer) continue;
    if (!IsSum(node)) {
      Defer(id);
    } else if (node.phase == Phase::kForward) {
      works_[IndexOf(id)] = SequenceWork::kScatter;
      Demand(node.outputs.front(), SplitOf(node.outputs.front()));
    } else {
      works_[IndexOf(id)] = SequenceWork::kDefer;
      is_partial_[IndexOf(node.outputs.front())] = true;
    }
  }
}

/// Views of terms and sums of them are terms; whatever else reads one needs the
/// sum over GPUs.
void SequenceRegion::Defer(NodeId id) {
  const Node& node = graph().node(id);
  const auto is_term = [this](ValueId input) { return IsPartial(input); };
  if (!std::ranges::any_of(node.inputs, is_term)) return;
  const bool moves = node.kind == OpKind::kView || node.kind == OpKind::kAdd;
  if (moves && std::ranges::all_of(node.inputs, is_term)) {
    works_[IndexOf(id)] = SequenceWork::kPartial;
    for (const ValueId output : node.outputs) {
      is_partial_[IndexOf(output)] = true;
    }
    return;
  }
  for (const ValueId input : node.inputs) {
    if (IsPartial(input) && !At(input)) Demand(input, SplitOf(input));
  }
}

bool SequenceRegion::Demand(ValueId id, const Split& split) {
  const StorageId storage = graph().value(id).storage;
  if (graph().storage(storage).role == TensorRole::kParameter) return false;
  if (split.period % spec_.gpus != 0) return false;
  const bool is_new = !At(id);
  if (!SplitBoard::Demand(id, split)) return false;
  if (is_new) fresh_.push_back(id);
  return true;
}

void SequenceRegion::Spread() {
  for (std::size_t next = 0; next < fresh_.size(); ++next) {
    const std::vector<NodeId> nodes = readers_[IndexOf(fresh_[next])];
    for (const NodeId node : nodes) Visit(node);
  }
}

void SequenceRegion::Visit(NodeId id) {
  const Node& node = graph().node(id);
  SequenceWork& work = works_[IndexOf(id)];
  const bool is_open =
      work == SequenceWork::kWhole || work == SequenceWork::kTokens;
  if (!is_open || NeedsAllTokens(node.kind)) return;
  const std::size_t known = fresh_.size();
  const bool follows =
      Follow(node) && std::ranges::any_of(node.outputs, [this](ValueId output) {
        return At(output).has_value();
      });
  work = follows ? SequenceWork::kTokens : SequenceWork::kWhole;
  for (; !follows && fresh_.size() > known; fresh_.pop_back()) {
    Clear(fresh_.back());
  }
}

bool SequenceRegion::Follow(const Node& node) {
  return node.kind == OpKind::kNormBackward ? FollowNormBackward(node)
                                            : FollowSplits(node, *this);
}

/// Gradients, inputs and statistics by tokens; gradients of weights are sums
/// over all.
bool SequenceRegion::FollowNormBackward(const Node& node) {
  const ValueId known = *std::ranges::find_if(
      node.inputs, [this](ValueId input) { return At(input).has_value(); });
  const Split split = *At(known);
  const auto at = static_cast<std::size_t>(split.dim);
  const Shape shape = ShapeOf(known);
  for (const ValueId id : ValuesOf(node)) {
    const Shape& own = ShapeOf(id);
    if (own.size() != shape.size() || own[at] != shape[at]) continue;
    if (!Demand(id, split)) return false;
  }
  return true;
}

/// Gradients of weights that are sums over tokens: of a GPU's own, unless all
/// are gathered for another reader.
void SequenceRegion::KeepLocalSums() {
  for (NodeId id = 0; id < std::ssize(graph().nodes()); ++id) {
    const Node& node = graph().node(id);
    const bool sums = node.phase == Phase::kBackward && node.target == "sum" &&
                      works_[IndexOf(id)] == SequenceWork::kWhole;
    if (!sums || !At(node.inputs.front())) continue;
    if (IsReadWhole(graph().value(node.inputs.front()).storage, id)) continue;
    works_[IndexOf(id)] = SequenceWork::kTokens;
  }
}

bool SequenceRegion::IsReadWhole(StorageId storage, NodeId but) const {
  for (ValueId id = 0; id < std::ssize(graph().values()); ++id) {
    if (graph().value(id).storage != storage) continue;
    for (const NodeId reader : readers_[IndexOf(id)]) {
      if (reader != but && WorkOf(reader) == SequenceWork::kWhole) return true;
    }
  }
  return false;
}

}  // namespace foretell::parallel
