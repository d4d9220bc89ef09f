#include "src/parallel/step_facts.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

/// Storages belong to one parameter if an operator of the optimizer reads or
/// writes them at the same place of its lists: twice over the operators is
/// enough, since each state meets the gradient.
constexpr int kRounds = 3;

/// Adds another source in a known parameter's storage.
void AddSource(const OperatorGraph& graph, ValueId id,
               std::vector<Parameter>& parameters) {
  const Value& value = graph.value(id);
  Parameter& parameter =
      *std::ranges::find(parameters, value.storage, &Parameter::storage);
  if (graph.value(parameter.value).type != value.type) return;
  parameter.sources.push_back(id);
}

std::vector<Parameter> FindParameters(
    const OperatorGraph& graph, std::span<const TrainedParameter> trained) {
  std::vector<Parameter> parameters;
  std::vector<bool> known(graph.storages().size(), false);
  for (ValueId id = 0; id < std::ssize(graph.values()); ++id) {
    const Value& value = graph.value(id);
    const bool is_parameter =
        graph.storage(value.storage).role == TensorRole::kParameter;
    if (!is_parameter || value.producer != kNone) continue;
    if (known[IndexOf(value.storage)]) {
      AddSource(graph, id, parameters);
      continue;
    }
    known[IndexOf(value.storage)] = true;
    Parameter parameter{.value = id, .storage = value.storage, .sources = {id}};
    const auto row =
        std::ranges::find(trained, value.storage, &TrainedParameter::parameter);
    if (row != trained.end()) parameter.gradient = row->gradient;
    parameters.push_back(parameter);
  }
  return parameters;
}

class OwnerSearch {
 public:
  /// Storages in `shared` say nothing about who owns what they meet.
  OwnerSearch(const OperatorGraph& graph, const std::vector<bool>& shared,
              std::vector<ParameterIndex>& owner)
      : graph_(graph), shared_(shared), owner_(owner) {}

  void Run() {
    for (int round = 0; round < kRounds; ++round) {
      for (const Node& node : graph_.nodes()) {
        if (node.phase == Phase::kOptimizer) Join(node);
      }
    }
  }

 private:
  bool IsShared(ValueId value) const {
    return shared_[IndexOf(graph_.value(value).storage)];
  }
  ParameterIndex& Of(ValueId value) {
    return owner_[IndexOf(graph_.value(value).storage)];
  }

  /// Tensors of each of the node's lists. The results of _fused_* are the lists
  /// that it changes, one after the other; of _foreach_* they are one list.
  std::size_t WidthOf(const Node& node) const {
    if (!node.target.starts_with("_fused_")) return node.outputs.size();
    const auto is_parameter = [this](ValueId value) {
      const StorageId storage = graph_.value(value).storage;
      return graph_.storage(storage).role == TensorRole::kParameter;
    };
    const auto end = std::ranges::find_if_not(node.inputs, is_parameter);
    return static_cast<std::size_t>(end - node.inputs.begin());
  }

  void Join(const Node& node) {
    const std::size_t width = WidthOf(node);
    for (std::size_t place = 0; place < width; ++place) {
      ParameterIndex found = kNone;
      for (const std::vector<ValueId>* values : {&node.outputs, &node.inputs}) {
        for (std::size_t i = place; i < values->size(); i += width) {
          if (IsShared((*values)[i])) continue;
          found = std::max(found, Of((*values)[i]));
        }
      }
      for (const std::vector<ValueId>* values : {&node.outputs, &node.inputs}) {
        for (std::size_t i = place; i < values->size(); i += width) {
          if (!IsShared((*values)[i])) Of((*values)[i]) = found;
        }
      }
    }
  }

  const OperatorGraph& graph_;
  const std::vector<bool>& shared_;
  std::vector<ParameterIndex>& owner_;
};

/// By storage: whether several parameters have their gradients in it.
std::vector<bool> SharedGradients(const OperatorGraph& graph,
                                  const std::vector<Parameter>& parameters) {
  std::vector<bool> seen(graph.storages().size(), false);
  std::vector<bool> shared(graph.storages().size(), false);
  for (const Parameter& parameter : parameters) {
    if (parameter.gradient == kNone) continue;
    const std::size_t storage = IndexOf(parameter.gradient);
    shared[storage] = seen[storage];
    seen[storage] = true;
  }
  return shared;
}

/// Sets `ready` and `last_gradient`: the last node outside the optimizer that
/// has a result in the gradient's storage, and the last result of its shape.
void FindLastGradient(const OperatorGraph& graph, Parameter& parameter) {
  const Shape& shape = graph.value(parameter.value).type.shape;
  bool has_shape = false;
  for (ValueId id = 0; id < std::ssize(graph.values()); ++id) {
    const Value& value = graph.value(id);
    if (value.storage != parameter.gradient || value.producer == kNone ||
        graph.node(value.producer).phase == Phase::kOptimizer) {
      continue;
    }
    parameter.ready = std::max(parameter.ready, value.producer);
    if (has_shape && value.type.shape != shape) continue;
    has_shape = value.type.shape == shape;
    parameter.last_gradient = id;
  }
}

NodeId LastOfPhase(const OperatorGraph& graph, Phase phase) {
  for (auto id = static_cast<NodeId>(graph.nodes().size()) - 1; id >= 0; --id) {
    if (graph.node(id).phase == phase) return id;
  }
  return kNone;
}

}  // namespace

StepFacts::StepFacts(const OperatorGraph& graph,
                     std::span<const TrainedParameter> trained)
    : parameters(FindParameters(graph, trained)),
      owner(graph.storages().size(), kNone),
      last_backward(LastOfPhase(graph, Phase::kBackward)),
      last_optimizer(LastOfPhase(graph, Phase::kOptimizer)) {
  const std::vector<bool> shared = SharedGradients(graph, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = parameters[i];
    const auto index = static_cast<ParameterIndex>(i);
    owner[IndexOf(parameter.storage)] = index;
    if (parameter.gradient == kNone) continue;
    owner[IndexOf(parameter.gradient)] = index;
    FindLastGradient(graph, parameter);
    if (parameter.ready == kNone) {
      parameter.gradient = kNone;  // Nothing computes it.
      continue;
    }
    by_ready.push_back(index);
  }
  OwnerSearch(graph, shared, owner).Run();
  std::ranges::stable_sort(by_ready, {}, [this](ParameterIndex index) {
    return parameters[IndexOf(index)].ready;
  });
  for (auto id = static_cast<NodeId>(graph.nodes().size()) - 1; id >= 0; --id) {
    if (graph.node(id).phase == Phase::kForward) first_forward = id;
  }
  for (const ValueId output : graph.outputs()) {
    last_forward = std::max(last_forward, graph.value(output).producer);
  }
  if (last_forward == kNone) last_forward = LastOfPhase(graph, Phase::kForward);
}

ParameterIndex StepFacts::GradientOf(const OperatorGraph& graph,
                                     const Value& value) const {
  const auto has_shape = [&](const Parameter& parameter) {
    return graph.value(parameter.value).type.shape == value.type.shape;
  };
  const ParameterIndex index = OwnerOf(value.storage);
  if (index == kNone || parameters[IndexOf(index)].gradient != value.storage)
    return kNone;
  if (has_shape(parameters[IndexOf(index)])) return index;
  const auto found =
      std::ranges::find_if(parameters, [&](const Parameter& parameter) {
        return parameter.gradient == value.storage && has_shape(parameter);
      });
  if (found == parameters.end()) return index;
  return static_cast<ParameterIndex>(found - parameters.begin());
}

std::vector<ParameterIndex> StepFacts::TrainedOf(
    const std::vector<ParameterIndex>& indices) const {
  std::vector<ParameterIndex> trained;
  for (const ParameterIndex index : indices) {
    if (parameters[IndexOf(index)].gradient != kNone) trained.push_back(index);
  }
  return trained;
}

}  // namespace foretell::parallel
