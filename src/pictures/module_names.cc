#include "src/pictures/module_names.h"

#include <algorithm>
#include <cstddef>

#include "src/pictures/picture_json.h"

namespace foretell::pictures {
namespace {

/// "blocks.0" of "blocks.0.weight"; empty for names that are not a path.
std::string PathOfLabel(std::string_view label) {
  const std::size_t dot = label.rfind('.');
  const bool is_path = dot != std::string_view::npos &&
                       label.find("::") == std::string_view::npos;
  return is_path ? std::string(label.substr(0, dot)) : "";
}

/// Modules of parameters and buffers by the scopes of their readers.
std::vector<std::string> ModulesOfConstants(const OperatorGraph& graph) {
  std::vector<std::string> modules(graph.storages().size());
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph.value(input).storage;
      if (storage == kNone || !IsSourceRole(graph.storage(storage).role))
        continue;
      std::string& module = modules[Index(storage)];
      if (module.empty()) module = ModulePath(node.scope);
    }
  }
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Storage& storage = graph.storages()[i];
    if (modules[i].empty() && IsSourceRole(storage.role)) {
      modules[i] = PathOfLabel(storage.label);
    }
  }
  return modules;
}

/// Whether the file states the module of any operator: those of the forward
/// pass without one are then the network's own.
bool HasPaths(const OperatorGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.phase == Phase::kForward && !ModulePath(node.scope).empty();
  });
}

/// What an operator without a scope belongs to, by what it reads.
class Operands {
 public:
  Operands(const OperatorGraph& graph,
           const std::vector<std::string>& constants,
           const std::vector<std::string>& nodes)
      : graph_(graph),
        constants_(constants),
        nodes_(nodes),
        of_gradients_(graph.storages().size()) {}

  std::string ModuleOf(const Node& node) {
    std::string module = OfConstant(node);
    if (!module.empty()) {
      KeepForGradients(node, module);
      return module;
    }
    module = OfGradient(node);
    if (!module.empty()) return module;
    const NodeId forward = LatestForward(node);
    const bool undoes = node.phase == Phase::kBackward && forward != kNone;
    return undoes ? nodes_[Index(forward)] : OfFirst(node);
  }

 private:
  std::string OfConstant(const Node& node) const {
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph_.value(input).storage;
      if (storage == kNone) continue;
      if (!constants_[Index(storage)].empty())
        return constants_[Index(storage)];
    }
    return "";
  }
  /// A product for the gradient of a weight reads no weight, but the same
  /// gradient as the one before it, which does.
  void KeepForGradients(const Node& node, const std::string& module) {
    if (node.phase != Phase::kBackward) return;
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph_.value(input).storage;
      if (storage != kNone) of_gradients_[Index(storage)] = module;
    }
  }
  std::string OfGradient(const Node& node) const {
    const bool makes_gradient =
        std::ranges::any_of(node.outputs, [this](ValueId output) {
          const StorageId storage = graph_.value(output).storage;
          return storage != kNone &&
                 graph_.storage(storage).role == TensorRole::kGradient;
        });
    if (node.phase != Phase::kBackward || !makes_gradient) return "";
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph_.value(input).storage;
      if (storage == kNone || of_gradients_[Index(storage)].empty()) continue;
      return of_gradients_[Index(storage)];
    }
    return "";
  }
  NodeId LatestForward(const Node& node) const {
    NodeId latest = kNone;
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph_.value(input).producer;
      if (producer != kNone && graph_.node(producer).phase == Phase::kForward) {
        latest = std::max(latest, producer);
      }
    }
    return latest;
  }
  std::string OfFirst(const Node& node) const {
    if (node.inputs.empty()) return "";
    const NodeId producer = graph_.value(node.inputs.front()).producer;
    return producer == kNone ? "" : nodes_[Index(producer)];
  }

  const OperatorGraph& graph_;
  const std::vector<std::string>& constants_;
  const std::vector<std::string>& nodes_;
  std::vector<std::string> of_gradients_;  ///< By storage; empty: not read.
};

}  // namespace

std::string ModulePath(std::string_view scope) {
  if (scope.find('/') == std::string_view::npos) return std::string(scope);
  std::string path;
  std::string_view before;
  while (true) {
    const std::size_t slash = scope.find('/');
    if (slash == std::string_view::npos) return path;  // The operator is left.
    const std::string_view part = scope.substr(0, slash);
    scope.remove_prefix(slash + 1);
    if (part.empty()) continue;
    const bool repeats = !before.empty() && part.size() > before.size() &&
                         part.starts_with(before) && part[before.size()] == '.';
    path.append(path.empty() ? "" : ".");
    path.append(repeats ? part.substr(before.size() + 1) : part);
    before = part;
  }
}

std::vector<std::string> ModulesOfNodes(const OperatorGraph& graph) {
  const std::vector<std::string> constants = ModulesOfConstants(graph);
  std::vector<std::string> modules;
  modules.reserve(graph.nodes().size());
  Operands operands(graph, constants, modules);
  const bool has_paths = HasPaths(graph);
  for (const Node& node : graph.nodes()) {
    std::string module;
    if (node.phase != Phase::kOptimizer) {
      module = ModulePath(node.scope);
      const bool is_root = has_paths && node.phase == Phase::kForward;
      if (module.empty() && !is_root) module = operands.ModuleOf(node);
    }
    modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<std::string> ModulesOfStorages(
    const OperatorGraph& graph, const std::vector<std::string>& of_nodes) {
  std::vector<std::string> modules = ModulesOfConstants(graph);
  for (const MemoryEvent& event : graph.events()) {
    const bool made = event.kind == MemoryEvent::Kind::kAllocate;
    if (!made || event.node == kNone) continue;
    modules[Index(event.storage)] = of_nodes[Index(event.node)];
  }
  return modules;
}

}  // namespace foretell::pictures
