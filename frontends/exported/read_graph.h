#pragma once

#include <map>
#include <string>

#include "frontends/exported/document.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// The `Graph` that `value` describes, with the names of its slots in `slots`.
/// Throws Error(kCorrupt) that names the node which reads a value before it is
/// made, or makes one that already exists.
Graph ReadGraph(Document& document, const Json& value,
                std::map<std::string, int>& slots);

}  // namespace foretell::exported
