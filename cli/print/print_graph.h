#pragma once

#include <string>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::cli {

/// A row per operator: name, module, result, MACs and live memory after it;
/// under it the totals and the tensors alive at the peak.
std::string FormatGraphTable(const OperatorGraph& graph,
                             const MemoryBreakdown& memory);

/// GraphToJson's document with "parameters", "macs", "static_features" and
/// "memory" added: peaks and, per operator, live and reserved bytes.
std::string FormatGraphJson(const OperatorGraph& graph,
                            const MemoryBreakdown& memory);

}  // namespace foretell::cli
