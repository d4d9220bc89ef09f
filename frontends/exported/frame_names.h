#pragma once

#include <cstddef>
#include <vector>

#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Returns for each slot of `graph` the number of the node before which the
/// last variable of a forward() lets go of it: 0 if none refers to it, the
/// number of nodes if one does until the graph ends.
///
/// A variable of Python holds its value until it is assigned again or its
/// function returns, whether it is read again or not. The nodes' stacks show
/// the lines that assign (Node::stack); the value is what the last node of the
/// line makes, of several variables the first one's, unless it makes one for
/// each. Not seen: assignments without a node (`x = y[0]`), and variables of
/// functions that stacks lack.
std::vector<std::size_t> NamesEnd(const Graph& graph);

}  // namespace foretell::exported
