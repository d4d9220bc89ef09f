#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/cost.h"
#include "foretell/graph.h"

namespace foretell::pictures {

/// Name of what the optimizer does, which no module does.
inline constexpr std::string_view kOptimizerModule = "(optimizer)";

/// What a module's own operators cost, those of modules within it left out.
struct ModuleCost {
  std::string path;  ///< "blocks.0.conv1"; empty: operators of no module.
  std::int64_t parameters = 0;  ///< Elements; what is shared counts once.
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

/// The same of at most `most` modules: the deepest ones become part of the
/// modules around them until there are so few. Requires most >= 1.
std::vector<ModuleCost> Merged(std::vector<ModuleCost> modules,
                               std::size_t most);

/// docs/json_output.md has its fields.
nlohmann::ordered_json ModulesToJson(const std::vector<ModuleCost>& modules);

}  // namespace foretell::pictures
