#include "src/parallel/sharded_units.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "foretell/error.h"
#include "src/graph/block_paths.h"
#include "src/parallel/expert_paths.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

using UnitIndex = std::int32_t;
constexpr UnitIndex kRoot = 0;

class UnitSearch {
 public:
  UnitSearch(const OperatorGraph& graph, const StepFacts& facts,
             const BlockOf& block_of, const ParallelSpec& spec,
             std::span<const NodeId> passes)
      : graph_(graph),
        facts_(facts),
        block_of_(block_of),
        passes_(passes),
        reentrant_(spec.reentrant),
        unit_of_node_(graph.nodes().size(), kRoot),
        unit_of_parameter_(facts.parameters.size(), kNone) {}

  ShardedUnits Run() {
    found_.units.push_back({});
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) AssignNode(id);
    AssignParameters();
    FindBackward();
    FindInputs();
    std::erase_if(found_.units, [](const ShardedUnit& unit) {
      return !unit.path.empty() && unit.parameters.empty();
    });
    return std::move(found_);
  }

 private:
  ShardedUnit& Unit(UnitIndex index) { return found_.units[IndexOf(index)]; }

  /// The block of the node's module; if its path is in no block, as in formats
  /// that leave out containers or the whole path, that of the first parameter
  /// that it reads.
  std::string PathOf(const Node& node) const {
    std::string path = block_of_(node.scope);
    if (!path.empty()) return path;
    if (node.phase != Phase::kForward) return "";
    for (const ValueId input : node.inputs) {
      const ParameterIndex index = ParameterIn(input);
      if (index == kNone) continue;
      const ValueId value = facts_.parameters[IndexOf(index)].value;
      return block_of_(graph_.value(value).name);
    }
    return "";
  }

  /// Operators of the forward pass, and of what is computed again.
  void AssignNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.phase == Phase::kOptimizer) return;
    const std::string path = PathOf(node);
    if (path.empty()) return;
    const auto [place, is_new] = units_by_path_.try_emplace(
        path, static_cast<UnitIndex>(found_.units.size()));
    if (is_new) found_.units.emplace_back().path = path;
    unit_of_node_[IndexOf(id)] = place->second;
    ShardedUnit& unit = Unit(place->second);
    if (node.phase != Phase::kForward) return;
    Extend(unit.forwards, id);
  }

  /// Whether the node is of another pass than `before`.
  bool IsOfLaterPass(NodeId before, NodeId id) const {
    const auto begin = std::ranges::upper_bound(passes_, before);
    return begin != passes_.end() && *begin <= id;
  }

  /// The node is of the last span, or begins that of a further pass.
  void Extend(std::vector<NodeSpan>& spans, NodeId id) const {
    if (spans.empty() || IsOfLaterPass(spans.back().last, id)) {
      spans.push_back({.first = id});
    }
    spans.back().last = id;
  }

  void AssignParameters() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (graph_.node(id).phase != Phase::kForward) continue;
      for (const ValueId input : graph_.node(id).inputs) {
        const ParameterIndex index = ParameterIn(input);
        if (index == kNone) continue;
        UnitIndex& unit = unit_of_parameter_[IndexOf(index)];
        const UnitIndex here = unit_of_node_[IndexOf(id)];
        unit = unit == kNone || unit == here ? here : kRoot;
      }
    }
    for (std::size_t i = 0; i < unit_of_parameter_.size(); ++i) {
      UnitIndex& unit = unit_of_parameter_[i];
      if (unit == kNone) unit = kRoot;
      Unit(unit).parameters.push_back(static_cast<ParameterIndex>(i));
    }
  }

  /// The parameter whose storage the value is in.
  ParameterIndex ParameterIn(ValueId value) const {
    const StorageId storage = graph_.value(value).storage;
    const ParameterIndex index = facts_.OwnerOf(storage);
    if (index == kNone) return kNone;
    return facts_.parameters[IndexOf(index)].storage == storage ? index : kNone;
  }

  /// The unit whose backward pass the node is of: it makes a gradient of one of
  /// its parameters, or reads one, or something that its forward pass made.
  /// kNone where it only moves gradients on.
  UnitIndex BackwardUnitOf(const Node& node) const {
    for (const ValueId output : node.outputs) {
      const ParameterIndex index = facts_.OwnerOf(graph_.value(output).storage);
      if (index != kNone) return unit_of_parameter_[IndexOf(index)];
    }
    for (const ValueId input : node.inputs) {
      const ParameterIndex index = ParameterIn(input);
      if (index != kNone) return unit_of_parameter_[IndexOf(index)];
    }
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph_.value(input).producer;
      const bool is_of_network = producer != kNone &&
                                 producer <= facts_.last_forward &&
                                 graph_.node(producer).phase == Phase::kForward;
      if (is_of_network) return unit_of_node_[IndexOf(producer)];
    }
    return kNone;
  }

  /// Whether what the network returns is freed before the backward pass: then
  /// the network returned its loss, as transformers' do.
  bool ReturnsLoss() const {
    const auto& nodes = graph_.nodes();
    const auto first = std::ranges::find(nodes, Phase::kBackward, &Node::phase);
    const auto end = static_cast<NodeId>(first - nodes.begin());
    std::set<StorageId> results;
    for (const ValueId output : graph_.outputs()) {
      results.insert(graph_.value(output).storage);
    }
    return std::ranges::any_of(graph_.events(), [&](const MemoryEvent& event) {
      return event.kind == MemoryEvent::Kind::kFree &&
             event.node > facts_.last_forward && event.node < end &&
             results.contains(event.storage);
    });
  }

  void FindBackward() {
    const bool returns_loss = ReturnsLoss();
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kBackward) continue;
      const UnitIndex again = unit_of_node_[IndexOf(id)];
      const UnitIndex index = again != kRoot ? again : BackwardUnitOf(node);
      if (returns_loss || index != kNone) BeginBackward(id);
      if (index == kNone) continue;
      ShardedUnit& unit = Unit(index);
      Extend(unit.backwards, id);
      if (again != kRoot) unit.last_again = id;
    }
  }

  void BeginBackward(NodeId id) {
    std::vector<NodeId>& begins = found_.backwards;
    if (begins.empty() || IsOfLaterPass(begins.back(), id))
      begins.push_back(id);
  }

  /// Values that depend on anything that is trained, and units that read one.
  /// What a reentrant checkpoint reads must require gradients, if nothing else
  /// than by enable_input_require_grads() of transformers.
  void FindInputs() {
    std::vector<bool> varies(graph_.storages().size(), false);
    for (const Parameter& parameter : facts_.parameters) {
      if (parameter.gradient != kNone)
        varies[IndexOf(parameter.storage)] = true;
    }
    for (NodeId id = 0; id <= facts_.last_forward; ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kForward) continue;
      for (const ValueId input : node.inputs) {
        const Value& value = graph_.value(input);
        const bool is_made_to = reentrant_ &&
                                unit_of_node_[IndexOf(id)] == kRoot &&
                                ParameterIn(input) != kNone;
        if (!varies[IndexOf(value.storage)] && !is_made_to) continue;
        for (const ValueId output : node.outputs) {
          const Value& result = graph_.value(output);
          if (IsFloatingPoint(result.type.dtype)) {
            varies[IndexOf(result.storage)] = true;
          }
        }
        Enter(unit_of_node_[IndexOf(id)], value);
      }
    }
  }

  void Enter(UnitIndex here, const Value& value) {
    if (value.producer == kNone) return;
    if (unit_of_node_[IndexOf(value.producer)] == here) return;
    Unit(here).inputs.insert(value.storage);
  }

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  const BlockOf& block_of_;
  const std::span<const NodeId> passes_;
  const bool reentrant_;
  std::vector<UnitIndex> unit_of_node_;
  std::vector<UnitIndex> unit_of_parameter_;
  std::map<std::string, UnitIndex> units_by_path_;
  ShardedUnits found_;
};

/// `block_of`, and lists of experts.
BlockOf WithExperts(BlockOf block_of) {
  return [block_of = std::move(block_of)](std::string_view path) {
    const std::string_view experts = ExpertsIn(path);
    return experts.empty() ? block_of(path) : std::string(experts);
  };
}

BlockOf BlocksOfSpec(const ParallelSpec& spec) {
  return spec.blocks.empty() ? BlocksOfNumber(0) : BlocksOfPath(spec.blocks);
}

}  // namespace

std::vector<std::string> BlockPaths(const OperatorGraph& graph,
                                    const ParallelSpec& spec) {
  const BlockOf block_of = BlocksOfSpec(spec);
  std::vector<std::string> paths;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    std::string path = block_of(node.scope);
    if (path.empty() || std::ranges::count(paths, path) > 0) continue;
    paths.push_back(std::move(path));
  }
  return paths;
}

ShardedUnits FindUnits(const OperatorGraph& graph, const StepFacts& facts,
                       const ParallelSpec& spec, std::span<const NodeId> passes,
                       bool has_experts) {
  BlockOf block_of = BlocksOfSpec(spec);
  if (has_experts) block_of = WithExperts(std::move(block_of));
  ShardedUnits found = UnitSearch(graph, facts, block_of, spec, passes).Run();
  if (!spec.blocks.empty() && found.units.size() == 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: no block '{}' has a parameter", ToString(spec),
                            spec.blocks));
  }
  return found;
}

}  // namespace foretell::parallel
