#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/cost.h"
#include "foretell/graph.h"

namespace foretell::pictures {

/// Name for the work of the optimizer, which belongs to no module.
inline constexpr std::string_view kOptimizerModule = "(optimizer)";

/// Cost of a module's own operators, without those of nested modules.
struct ModuleCost {
  std::string path;  ///< "blocks.0.conv1"; empty: operators of no module.
  std::int64_t parameters = 0;  ///< Elements; shared ones count once.
  std::int64_t parameter_bytes = 0;
  std::int64_t result_bytes = 0;  ///< Storages that its operators allocate.
  std::int64_t macs = 0;          ///< Of all passes of the step.
  double gpu_us = 0;
  double dispatch_us = 0;
  double energy_j = 0;  ///< While its kernels run.
};

/// One per module that has an operator or a parameter, by path.
std::vector<ModuleCost> CostsByModule(const OperatorGraph& graph,
                                      const CostEstimate& cost,
                                      const std::vector<std::string>& of_nodes);

/// The same of at most `most` modules: merges the deepest ones into their
/// parents until there are at most that many. Requires most >= 1.
std::vector<ModuleCost> Merged(std::vector<ModuleCost> modules,
                               std::size_t most);

/// A module with those nested in it.
struct ModuleTree {
  std::string name;  ///< Last part of the path; empty for the network.
  ModuleCost cost;   ///< Nested modules included.
  std::vector<ModuleTree> nested;  ///< In the order in which they run.
};

/// The network with all of its modules, and the optimizer as one of them.
ModuleTree TreeOfModules(const OperatorGraph& graph, const CostEstimate& cost);

/// docs/json_output.md has its fields.
nlohmann::ordered_json ModulesToJson(const std::vector<ModuleCost>& modules);

}  // namespace foretell::pictures
