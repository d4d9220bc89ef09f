#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"

namespace foretell::pictures {

/// The module path of a node's scope, "blocks.0.conv1", for any frontend:
/// "/blocks/blocks.0/conv1/Conv" of an ONNX file loses its operator and what
/// each part repeats of the one before. Empty for an operator of no module.
std::string ModulePath(std::string_view scope);

/// Module of every operator, empty without one. If others have a module, an
/// operator of the forward pass without a scope is the network's own. Otherwise
/// one without a scope belongs to the module of a parameter that it reads, or
/// of the parameter whose gradient it makes, as far as the operator before it
/// shows that; in the backward pass, failing that, to that of the latest
/// forward operator whose result it reads; else to that of the operator that
/// made its first operand. Those of the optimizer have none.
std::vector<std::string> ModulesOfNodes(const OperatorGraph& graph);

/// Module of every storage: of parameters and buffers that of the first
/// operator that reads them, or the path in their names; of others that of the
/// operator that allocates them. `of_nodes` is ModulesOfNodes.
std::vector<std::string> ModulesOfStorages(
    const OperatorGraph& graph, const std::vector<std::string>& of_nodes);

}  // namespace foretell::pictures
