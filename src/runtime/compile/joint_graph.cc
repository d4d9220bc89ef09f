#include "src/runtime/compile/joint_graph.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "src/graph/index_of.h"
#include "src/graph/kind_sets.h"
#include "src/graph/shared_storage.h"

// The lists of operators are those of get_default_op_list() in
// torch/_functorch/partitioners.py, PyTorch 2.13, by kind of operator: element
// by element, sums, views, copies and indexing are recomputable; convolutions,
// products, attention, pooling, sorts, padding, embeddings and concatenations
// are not.

namespace foretell::runtime {
namespace {

/// In addition to those of elements.
constexpr auto kRecomputableKinds =
    std::to_array<OpKind>({OpKind::kReduce, OpKind::kView, OpKind::kCopy,
                           OpKind::kCast, OpKind::kDropout, OpKind::kFill});

/// Of kinds whose other operators stay.
constexpr auto kRecomputableTargets =
    std::to_array<std::string_view>({"index", "gather", "argmax", "arange"});

/// Return their operand where there is nothing to do.
constexpr auto kNothingTargets =
    std::to_array<std::string_view>({"to", "contiguous"});

/// First node of a backward pass that begins with the gradient of the loss;
/// nodes().end() if it begins with those that another region made.
auto FirstOfLoss(const OperatorGraph& graph) {
  return BeginsWithGradients(graph)
             ? graph.nodes().end()
             : std::ranges::find(graph.nodes(), Phase::kBackward, &Node::phase);
}

bool HasKind(std::span<const OpKind> kinds, OpKind kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

class JointWriter {
 public:
  explicit JointWriter(const OperatorGraph& graph) : graph_(graph) {
    joint_.place_of.assign(graph.values().size(), kNone);
  }

  JointGraph Write() {
    MarkLive();
    AddSources();
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (is_live_[IndexOf(id)]) AddNode(id);
    }
    MarkResults();
    MarkPasses();
    MarkDistances();
    return std::move(joint_);
  }

 private:
  /// Writes into what it reads.
  bool IsUpdate(const Node& node) const {
    return node.kind != OpKind::kView && !node.outputs.empty() &&
           node.target.ends_with('_') &&
           LiesInOperand(graph_, node, node.outputs.front());
  }

  JointTraits TraitsOf(const Node& node) const {
    JointTraits traits;
    traits.is_random = node.kind == OpKind::kRandom;
    traits.is_product = IsProductKind(node.kind);
    traits.is_concat = node.kind == OpKind::kConcat;
    traits.is_view = !node.outputs.empty() &&
                     LiesInOperand(graph_, node, node.outputs[0]) &&
                     !IsUpdate(node);
    traits.is_recomputable =
        !IsUpdate(node) &&
        (traits.is_view || IsElementwiseKind(node.kind) ||
         HasKind(kRecomputableKinds, node.kind) ||
         std::ranges::find(kRecomputableTargets, node.target) !=
             kRecomputableTargets.end());
    traits.is_fusible = traits.is_recomputable || traits.is_random;
    return traits;
  }

  /// Nodes that a result or an update needs.
  void MarkLive() {
    is_live_.assign(graph_.nodes().size(), false);
    std::vector<bool> is_read(graph_.values().size(), false);
    for (const ValueId id : graph_.outputs()) is_read[IndexOf(id)] = true;
    for (NodeId id = static_cast<NodeId>(graph_.nodes().size()) - 1; id >= 0;
         --id) {
      const Node& node = graph_.node(id);
      const bool is_optimizer = node.phase == Phase::kOptimizer;
      const bool is_needed =
          is_optimizer || IsUpdate(node) || IsGradient(node) ||
          std::ranges::any_of(node.outputs, [&](ValueId output) {
            return is_read[IndexOf(output)];
          });
      if (!is_needed) continue;
      for (const ValueId input : node.inputs) is_read[IndexOf(input)] = true;
      is_live_[IndexOf(id)] = !is_optimizer;
    }
  }

  bool IsGradient(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId output) {
      return graph_.storage(graph_.value(output).storage).role ==
             TensorRole::kGradient;
    });
  }

  void AddSources() {
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      const Value& value = graph_.value(id);
      const TensorRole role = graph_.storage(value.storage).role;
      if (value.producer != kNone || role == TensorRole::kOptimizerState) {
        continue;
      }
      JointNode source{.value = id, .bytes = value.type.Bytes()};
      source.in_backward = role == TensorRole::kBackwardTemporary;
      has_begun_ = has_begun_ || source.in_backward;
      source.is_source = !source.in_backward;
      source.is_static = IsSourceRole(role);
      Add(std::move(source), id);
    }
  }

  std::int32_t Add(JointNode node, ValueId value) {
    const auto place = static_cast<std::int32_t>(joint_.nodes.size());
    for (const std::int32_t input : node.inputs) {
      std::vector<std::int32_t>& users = joint_.nodes[IndexOf(input)].users;
      if (users.empty() || users.back() != place) users.push_back(place);
    }
    joint_.nodes.push_back(std::move(node));
    if (value != kNone) joint_.place_of[IndexOf(value)] = place;
    return place;
  }

  /// The operand itself: casts to the type that it has, copies into the order
  /// that it has, views of the shape that it has (pointless_view of
  /// torch/_inductor/fx_passes/joint_graph.py).
  bool IsNothing(const Node& node) const {
    const bool can_be = node.kind == OpKind::kView ||
                        std::ranges::find(kNothingTargets, node.target) !=
                            kNothingTargets.end();
    if (!can_be || node.outputs.size() != 1 || node.inputs.size() != 1) {
      return false;
    }
    const Value& result = graph_.value(node.outputs.front());
    const Value& operand = graph_.value(node.inputs.front());
    return result.storage == operand.storage && result.type == operand.type &&
           result.strides == operand.strides;
  }

  void AddNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (IsNothing(node)) {
      joint_.place_of[IndexOf(node.outputs.front())] =
          joint_.place_of[IndexOf(node.inputs.front())];
      return;
    }
    JointNode made{.node = id, .macs = node.macs, .traits = TraitsOf(node)};
    const bool is_first = node.phase == Phase::kBackward && !has_begun_;
    has_begun_ = has_begun_ || is_first;
    made.in_backward = is_first;
    for (const ValueId input : node.inputs) {
      const std::int32_t place = joint_.place_of[IndexOf(input)];
      // The first gradient has the loss's type and reads nothing of it.
      if (place != kNone && !is_first) made.inputs.push_back(place);
    }
    std::ranges::sort(made.inputs);
    const auto repeated = std::ranges::unique(made.inputs);
    made.inputs.erase(repeated.begin(), repeated.end());
    for (const ValueId output : node.outputs) {
      made.bytes += graph_.value(output).type.Bytes();
    }
    if (const std::int32_t same = FindSame(node, made); same != kNone) {
      return TakePlaces(node, joint_.nodes[IndexOf(same)].node);
    }
    if (node.outputs.size() == 1) made.value = node.outputs.front();
    const ValueId only = made.value;
    const bool is_root = made.inputs.empty();
    const std::int32_t place = Add(std::move(made), only);
    if (is_root) roots_.push_back(place);
    if (only == kNone) AddItems(id, place);
  }

  void TakePlaces(const Node& node, NodeId same) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      joint_.place_of[IndexOf(node.outputs[i])] =
          joint_.place_of[IndexOf(graph_.node(same).outputs[i])];
    }
  }

  /// An earlier operator that computes the same (fx_graph_cse), or kNone.
  std::int32_t FindSame(const Node& node, const JointNode& made) const {
    if (node.outputs.empty() || made.in_backward || made.traits.is_random ||
        node.target == "empty" || IsUpdate(node) || IsGradient(node)) {
      return kNone;
    }
    const std::vector<std::int32_t>& candidates =
        made.inputs.empty() ? roots_
                            : joint_.nodes[IndexOf(made.inputs.back())].users;
    const auto same = std::ranges::find_if(candidates, [&](std::int32_t place) {
      const JointNode& other = joint_.nodes[IndexOf(place)];
      return !other.in_backward && !other.is_item &&
             HashesAlike(graph_.node(other.node), node);
    });
    if (same == candidates.end()) return kNone;
    return IsSame(graph_.node(joint_.nodes[IndexOf(*same)].node), node) ? *same
                                                                        : kNone;
  }

  /// fx_graph_cse knows the first operator of each hash, and in Python -1 has
  /// the hash of -2: unsqueeze(x, -1) after unsqueeze(x, -2) is never found.
  bool HashesAlike(const Node& earlier, const Node& node) const {
    const auto hash = [](const Attribute& attribute) {
      return attribute == Attribute(std::int64_t{-1})
                 ? Attribute(std::int64_t{-2})
                 : attribute;
    };
    const auto hash_alike = [&](const auto& a, const auto& b) {
      return a.first == b.first && hash(a.second) == hash(b.second);
    };
    const auto place_of = [this](ValueId id) {
      return joint_.place_of[IndexOf(id)];
    };
    return earlier.target == node.target &&
           std::ranges::equal(earlier.attributes, node.attributes,
                              hash_alike) &&
           std::ranges::equal(earlier.inputs, node.inputs, {}, place_of,
                              place_of);
  }

  /// Of operators that hash alike.
  bool IsSame(const Node& earlier, const Node& node) const {
    const auto type_of = [this](ValueId id) { return graph_.value(id).type; };
    return earlier.attributes == node.attributes &&
           std::ranges::equal(earlier.outputs, node.outputs, {}, type_of,
                              type_of);
  }

  void AddItems(NodeId id, std::int32_t tuple) {
    for (const ValueId output : graph_.node(id).outputs) {
      Add({.node = id,
           .value = output,
           .bytes = graph_.value(output).type.Bytes(),
           .traits = {.is_fusible = true, .is_recomputable = true},
           .inputs = {tuple},
           .is_item = true},
          output);
    }
  }

  void MarkResult(ValueId id) {
    const std::int32_t place = joint_.place_of[IndexOf(id)];
    if (place != kNone) joint_.nodes[IndexOf(place)].is_result = true;
  }

  /// The program's results, the loss, updates of sources, and what the
  /// optimizer reads.
  void MarkResults() {
    for (const ValueId id : graph_.outputs()) MarkResult(id);
    const auto first = FirstOfLoss(graph_);
    if (first != graph_.nodes().end()) {
      std::ranges::for_each(first->inputs, [&](ValueId id) { MarkResult(id); });
    }
    for (const Node& node : graph_.nodes()) {
      if (node.phase == Phase::kOptimizer) {
        std::ranges::for_each(node.inputs, [&](ValueId id) { MarkResult(id); });
      } else if (IsUpdate(node) || IsGradient(node)) {
        std::ranges::for_each(node.outputs,
                              [&](ValueId id) { MarkResult(id); });
      }
    }
  }

  bool IsBackward(const JointNode& node) const {
    return node.node != kNone &&
           graph_.node(node.node).phase == Phase::kBackward;
  }

  /// The backward pass begins with the gradient of the loss, or with those that
  /// another region made.
  void MarkPasses() {
    for (JointNode& node : joint_.nodes) {
      node.in_backward =
          node.in_backward || HasInput(node, &JointNode::in_backward);
    }
    for (auto node = joint_.nodes.rbegin(); node != joint_.nodes.rend();
         ++node) {
      if (node->in_backward || IsBackward(*node)) continue;
      node->in_forward = node->is_source || node->is_result ||
                         HasUser(*node, &JointNode::in_forward);
    }
    int order = 0;
    for (JointNode& node : joint_.nodes) {
      if (node.in_forward) node.forward_order = order++;
    }
  }

  bool HasInput(const JointNode& node, bool JointNode::*is) const {
    return std::ranges::any_of(node.inputs, [&](std::int32_t input) {
      return joint_.nodes[IndexOf(input)].*is;
    });
  }
  bool HasUser(const JointNode& node, bool JointNode::*is) const {
    return std::ranges::any_of(node.users, [&](std::int32_t user) {
      return joint_.nodes[IndexOf(user)].*is;
    });
  }

  void MarkDistances() {
    for (auto node = joint_.nodes.rbegin(); node != joint_.nodes.rend();
         ++node) {
      node->distance = node->in_forward ? kFar : 0;
      if (!node->in_forward) continue;
      for (const std::int32_t user : node->users) {
        node->distance =
            std::min(node->distance, joint_.nodes[IndexOf(user)].distance + 1);
      }
    }
  }

  const OperatorGraph& graph_;
  JointGraph joint_;
  std::vector<bool> is_live_;        ///< By node of the step.
  std::vector<std::int32_t> roots_;  ///< Operators without operands.
  bool has_begun_ = false;           ///< The backward pass.
};

}  // namespace

JointGraph MakeJointGraph(const OperatorGraph& graph) {
  return JointWriter(graph).Write();
}

bool BeginsWithGradients(const OperatorGraph& graph) {
  return std::ranges::any_of(graph.values(), [&](const Value& value) {
    return value.producer == kNone &&
           graph.storage(value.storage).role == TensorRole::kBackwardTemporary;
  });
}

}  // namespace foretell::runtime
