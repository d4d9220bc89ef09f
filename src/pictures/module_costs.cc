#include "src/pictures/module_costs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/units.h"
#include "src/pictures/module_names.h"
#include "src/pictures/picture_json.h"

namespace foretell::pictures {
namespace {

using Json = nlohmann::ordered_json;
using ByPath = std::map<std::string, ModuleCost>;

void AddNodes(const OperatorGraph& graph, const CostEstimate& cost,
              const std::vector<std::string>& of_nodes, ByPath& modules) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const NodeCost& spent = cost.nodes[i];
    const bool updates = node.phase == Phase::kOptimizer;
    ModuleCost& module =
        modules[updates ? std::string(kOptimizerModule) : of_nodes[i]];
    module.macs += node.macs;
    module.gpu_us += spent.gpu_us;
    module.dispatch_us += spent.dispatch_us;
    module.energy_j += spent.energy_j;
  }
}

void AddStorages(const OperatorGraph& graph,
                 const std::vector<std::string>& of_nodes, ByPath& modules) {
  const std::vector<std::string> of_storages =
      ModulesOfStorages(graph, of_nodes);
  std::vector<bool> counted(graph.storages().size());
  for (const Value& value : graph.values()) {
    if (value.storage == kNone || value.producer != kNone) continue;
    const auto index = Index(value.storage);
    const Storage& storage = graph.storages()[index];
    if (storage.role != TensorRole::kParameter || counted[index]) continue;
    counted[index] = true;
    ModuleCost& module = modules[of_storages[index]];
    module.parameters += value.type.NumElements();
    module.parameter_bytes += storage.bytes;
  }
  for (const MemoryEvent& event : graph.events()) {
    const bool made = event.kind == MemoryEvent::Kind::kAllocate;
    if (!made || event.node == kNone) continue;
    if (graph.node(event.node).phase == Phase::kOptimizer) continue;
    modules[of_storages[Index(event.storage)]].result_bytes +=
        graph.storage(event.storage).bytes;
  }
}

void Add(const ModuleCost& part, ModuleCost& whole) {
  whole.parameters += part.parameters;
  whole.parameter_bytes += part.parameter_bytes;
  whole.result_bytes += part.result_bytes;
  whole.macs += part.macs;
  whole.gpu_us += part.gpu_us;
  whole.dispatch_us += part.dispatch_us;
  whole.energy_j += part.energy_j;
}

std::vector<ModuleCost> ToList(ByPath modules) {
  std::vector<ModuleCost> list;
  for (auto& [path, module] : modules) {
    module.path = path;
    list.push_back(std::move(module));
  }
  return list;
}

std::ptrdiff_t DepthOf(const ModuleCost& module) {
  return std::ranges::count(module.path, '.');
}

/// "blocks.0" of "blocks.0.conv1"; empty at the top.
std::string Around(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

/// The module `name` in `tree`, added if it is not there.
ModuleTree& Nested(ModuleTree& tree, std::string_view name) {
  const auto found = std::ranges::find(tree.nested, name, &ModuleTree::name);
  if (found != tree.nested.end()) return *found;
  return tree.nested.emplace_back(ModuleTree{.name = std::string(name)});
}

/// Adds `cost` to `tree` and to each module on the way to `path`.
void AddAlong(std::string_view path, const ModuleCost& cost,
              ModuleTree& network) {
  ModuleTree* tree = &network;
  Add(cost, tree->cost);
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    tree = &Nested(*tree, path.substr(0, dot));
    Add(cost, tree->cost);
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
}

}  // namespace

std::vector<ModuleCost> CostsByModule(
    const OperatorGraph& graph, const CostEstimate& cost,
    const std::vector<std::string>& of_nodes) {
  ByPath modules;
  AddNodes(graph, cost, of_nodes, modules);
  AddStorages(graph, of_nodes, modules);
  return ToList(std::move(modules));
}

ModuleTree TreeOfModules(const OperatorGraph& graph, const CostEstimate& cost) {
  const std::vector<std::string> of_nodes = ModulesOfNodes(graph);
  ModuleTree network;
  for (const std::string& path : of_nodes) AddAlong(path, {}, network);
  for (const ModuleCost& module : CostsByModule(graph, cost, of_nodes)) {
    AddAlong(module.path, module, network);
  }
  return network;
}

std::vector<ModuleCost> Merged(std::vector<ModuleCost> modules,
                               std::size_t most) {
  while (modules.size() > most) {
    const std::ptrdiff_t deepest =
        DepthOf(std::ranges::max(modules, {}, &DepthOf));
    ByPath merged;
    for (const ModuleCost& module : modules) {
      const bool goes = DepthOf(module) == deepest;
      Add(module, merged[goes ? Around(module.path) : module.path]);
    }
    modules = ToList(std::move(merged));
  }
  return modules;
}

Json ModulesToJson(const std::vector<ModuleCost>& modules) {
  Json list = Json::array();
  for (const ModuleCost& module : modules) {
    list.push_back({{"path", Clipped(module.path)},
                    {"parameters", module.parameters},
                    {"parameter_mib", Brief(ToMiB(module.parameter_bytes))},
                    {"result_mib", Brief(ToMiB(module.result_bytes))},
                    {"macs", module.macs},
                    {"gpu_us", Brief(module.gpu_us)},
                    {"dispatch_us", Brief(module.dispatch_us)},
                    {"energy_j", Brief(module.energy_j)}});
  }
  return list;
}

}  // namespace foretell::pictures
