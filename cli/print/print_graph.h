#pragma once

#include <string>

#include "foretell/graph.h"
#include "foretell/predictor.h"

namespace foretell::cli {

/// A row per operator: name, module, result, MACs, live memory after it and the
/// time of its kernels by the cost model; under it the totals, the figures of
/// the whole step and the tensors alive at the peak.
std::string FormatGraphTable(const OperatorGraph& graph,
                             const Prediction& prediction);

/// GraphToJson's document with "parameters", "macs", "static_features",
/// "memory" (peaks and, per operator, live and reserved bytes), "cost" (per
/// operator) and "figures" of the whole step added.
std::string FormatGraphJson(const OperatorGraph& graph,
                            const Prediction& prediction);

}  // namespace foretell::cli
