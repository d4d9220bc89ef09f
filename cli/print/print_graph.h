#pragma once

#include <string>
#include <vector>

#include "foretell/graph.h"
#include "foretell/predictor.h"

namespace foretell::cli {

/// A row per operator: name, module, result, MACs, live memory after it and the
/// time of its kernels by the cost model; under it the totals, the figures of
/// the whole step and the tensors alive at the peak.
std::string FormatGraphTable(const OperatorGraph& graph,
                             const Prediction& prediction);

/// A row per module, indented by its depth: parameters, MACs, results and
/// kernel times of all passes, nested modules included; under it the totals and
/// the figures of the whole step.
std::string FormatModuleTree(const OperatorGraph& graph,
                             const Prediction& prediction);

/// GraphToJson's document with "parameters", "macs", "static_features",
/// "memory" (peaks and, per operator, live and reserved bytes), "cost" (per
/// operator) and "figures" of the whole step added; "warnings" are those given.
std::string FormatGraphJson(const OperatorGraph& graph,
                            const Prediction& prediction,
                            const std::vector<std::string>& warnings = {});

}  // namespace foretell::cli
