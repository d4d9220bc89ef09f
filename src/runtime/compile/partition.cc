#include "src/runtime/compile/partition.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/graph/copy_node.h"
#include "src/graph/index_of.h"
#include "src/runtime/compile/joint_graph.h"
#include "src/runtime/compile/keep_policies.h"
#include "src/runtime/compile/saved_tensors.h"

// Writes the two passes that SavedTensors divides a step into, as
// _extract_fwd_bwd_modules and reordering_to_mimic_autograd_engine of
// torch/_functorch/partitioners.py do: the forward pass has what its results
// and the kept tensors need; the backward pass is the operators that depend on
// the gradient of the loss, in their order, each after those of the forward
// pass that it needs again. Nodes that nothing reads are gone.

namespace foretell::runtime {
namespace {

class PassWriter {
 public:
  PassWriter(const OperatorGraph& graph, const BlockRuns* runs)
      : graph_(graph),
        joint_(MakeJointGraph(graph)),
        builder_(graph.info()),
        forward_(graph.values().size(), kNone),
        backward_(graph.values().size(), kNone),
        storage_of_(graph.storages().size(), kNone) {
    builder_.SetParameterElements(graph.ParameterElements());
    if (runs != nullptr) SetKeepPolicies(*runs, joint_);
  }

  OperatorGraph Write() {
    const std::vector<std::int32_t> saved =
        SavedTensors(joint_, graph_.info().runtime.memory_budget);
    AddSources();
    WriteForward(saved);
    for (const std::int32_t place : saved) Keep(place);
    if (!BeginsWithGradients(graph_)) KeepLoss();
    WriteBackward();
    MarkEnds();
    builder_.DeriveLifetimes();
    return builder_.Build();
  }

 private:
  using Values = std::vector<ValueId>;

  const JointNode* JointOf(NodeId id) const {
    for (const ValueId output : graph_.node(id).outputs) {
      const std::int32_t place = joint_.place_of[IndexOf(output)];
      if (place != kNone) return &joint_.nodes[IndexOf(place)];
    }
    return nullptr;
  }

  /// The first value that is computed as `id`.
  ValueId First(ValueId id) const {
    const std::int32_t place = joint_.place_of[IndexOf(id)];
    return place == kNone ? id : joint_.nodes[IndexOf(place)].value;
  }

  void AddSources() {
    for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
      const Value& value = graph_.value(id);
      if (value.producer != kNone) continue;
      forward_[IndexOf(id)] = builder_.AddSource(
          value.name, value.type, StorageNow(value.storage), value.strides);
      backward_[IndexOf(id)] = forward_[IndexOf(id)];
    }
  }

  StorageId StorageNow(StorageId id) {
    StorageId& now = storage_of_[IndexOf(id)];
    if (now == kNone) now = NewStorage(id);
    return now;
  }
  StorageId NewStorage(StorageId like) {
    const Storage& storage = graph_.storage(like);
    return builder_.AddStorage(storage.bytes, storage.role, storage.label);
  }

  /// Operators of the forward pass, and of the others those that a kept tensor
  /// needs.
  void WriteForward(const std::vector<std::int32_t>& saved) {
    std::vector<bool> is_needed(graph_.nodes().size(), false);
    for (const std::int32_t place : saved) MarkNeeded(place, is_needed);
    for (const JointNode& node : joint_.nodes) {
      if (node.in_forward && node.node != kNone) {
        is_needed[IndexOf(node.node)] = true;
      }
    }
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (is_needed[IndexOf(id)]) Copy(id, Phase::kForward, forward_);
    }
  }

  void MarkNeeded(std::int32_t place, std::vector<bool>& is_needed) const {
    const JointNode& node = joint_.nodes[IndexOf(place)];
    if (node.node == kNone || is_needed[IndexOf(node.node)]) return;
    is_needed[IndexOf(node.node)] = true;
    for (const std::int32_t input : node.inputs) MarkNeeded(input, is_needed);
    // An item's operands are its tuple's.
    if (node.inputs.empty()) return;
    const JointNode& first = joint_.nodes[IndexOf(node.inputs.front())];
    if (first.node != node.node) return;
    for (const std::int32_t input : first.inputs) MarkNeeded(input, is_needed);
  }

  void Keep(std::int32_t place) {
    const JointNode& node = joint_.nodes[IndexOf(place)];
    if (node.node == kNone) return;
    const ValueId now = forward_[IndexOf(node.value)];
    backward_[IndexOf(node.value)] = now;
    const StorageId storage = builder_.value(now).storage;
    if (builder_.storage(storage).role == TensorRole::kActivation) {
      builder_.SetRole(storage, TensorRole::kSaved);
    }
  }

  /// What the first operator of the backward pass has the type of.
  void KeepLoss() {
    const auto first =
        std::ranges::find(graph_.nodes(), Phase::kBackward, &Node::phase);
    for (const ValueId id : first->inputs) {
      if (backward_[IndexOf(id)] == kNone)
        backward_[IndexOf(id)] = forward_[IndexOf(id)];
    }
  }

  void WriteBackward() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase == Phase::kForward) continue;
      const JointNode* const joint = JointOf(id);
      // One that computes the same as an earlier operator is left out.
      const bool is_pass = node.phase == Phase::kBackward && joint != nullptr &&
                           joint->node == id &&
                           (joint->in_backward || IsResult(node));
      if (is_pass) CopyWithOperands(id);
      if (node.phase == Phase::kOptimizer) {
        Copy(id, Phase::kOptimizer, backward_);
      }
    }
  }

  bool IsResult(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId output) {
      const std::int32_t place = joint_.place_of[IndexOf(output)];
      return place != kNone && joint_.nodes[IndexOf(place)].is_result;
    });
  }

  /// Adds `id`, and before it all that its operands still need, in the order
  /// of the joint graph.
  void CopyWithOperands(NodeId id) {
    std::vector<NodeId> missing = {id};
    std::unordered_set<NodeId> seen = {id};
    for (std::size_t next = 0; next < missing.size(); ++next) {
      for (const ValueId input : graph_.node(missing[next]).inputs) {
        const ValueId first = First(input);
        const NodeId producer = graph_.value(first).producer;
        if (backward_[IndexOf(first)] == kNone &&
            seen.insert(producer).second) {
          missing.push_back(producer);
        }
      }
    }
    std::ranges::sort(missing);
    for (const NodeId one : missing) Copy(one, Phase::kBackward, backward_);
  }

  /// The storage of a copied result: that of an operand whose storage it has,
  /// or a new one.
  StorageId StorageOf(const Node& node, ValueId output, Phase phase,
                      const Values& now) {
    const StorageId storage = graph_.value(output).storage;
    for (const ValueId input : node.inputs) {
      if (graph_.value(input).storage != storage) continue;
      return builder_.value(now[IndexOf(First(input))]).storage;
    }
    if (phase == node.phase) return StorageNow(storage);
    const StorageId made = NewStorage(storage);
    builder_.SetRole(made, phase == Phase::kForward
                               ? TensorRole::kActivation
                               : TensorRole::kBackwardTemporary);
    return made;
  }

  void Copy(NodeId id, Phase phase, Values& now) {
    const auto value_now = [&](ValueId value) {
      return now[IndexOf(First(value))];
    };
    CopyNode(
        graph_, id,
        {.parts = {.value = value_now,
                   .storage = [this](StorageId one) { return StorageNow(one); },
                   .name = [](const std::string&) { return std::string(); }},
         .add =
             [&](ValueId result, ValueId copy) {
               if (now[IndexOf(result)] == kNone) now[IndexOf(result)] = copy;
             },
         .result_storage =
             [&](ValueId result) {
               return StorageOf(graph_.node(id), result, phase, now);
             }},
        builder_, {.phase = phase});
  }

  void MarkEnds() {
    const auto mark = [this](ValueId id, auto add) {
      const ValueId forward = forward_[IndexOf(First(id))];
      const ValueId now =
          forward != kNone ? forward : backward_[IndexOf(First(id))];
      if (now != kNone) add(now);
    };
    for (const ValueId id : graph_.inputs()) {
      mark(id, [this](ValueId now) { builder_.MarkInput(now); });
    }
    for (const ValueId id : graph_.outputs()) {
      mark(id, [this](ValueId now) { builder_.MarkOutput(now); });
    }
  }

  const OperatorGraph& graph_;
  JointGraph joint_;
  GraphBuilder builder_;
  Values forward_;   ///< By value of the step.
  Values backward_;  ///< As the backward pass and the optimizer read it.
  std::vector<StorageId> storage_of_;  ///< By storage of the step.
};

}  // namespace

OperatorGraph Partition(const OperatorGraph& graph, const BlockRuns* runs) {
  const bool has_backward = std::ranges::any_of(
      graph.nodes(),
      [](const Node& node) { return node.phase == Phase::kBackward; });
  return has_backward ? PassWriter(graph, runs).Write() : graph;
}

}  // namespace foretell::runtime
