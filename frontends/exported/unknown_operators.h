#pragma once

#include <string>
#include <vector>

#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Refuses a graph, before any of it runs, that calls operators which do not
/// exist or are not allowed. Throws Error(kUnsupported) that begins with `path`
/// and lists all such operators, or states the remedy for weights of a subclass
/// of torch.Tensor.
void RefuseUnknownOperators(const std::string& path, const Graph& graph);

/// Names ("aten::nonzero") of the operators that cannot run on the meta device,
/// each once, sorted.
std::vector<std::string> OperatorsWithoutMetaKernel(const Graph& graph);

}  // namespace foretell::exported
