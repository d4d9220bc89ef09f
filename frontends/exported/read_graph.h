#pragma once

#include <map>
#include <string>

#include "frontends/exported/document.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// The `Graph` that `value` describes, with the names of its slots in `slots`.
/// Throws Error(kCorrupt) that names the node which reads a value that nothing
/// has made before it, or makes one that is there.
Graph ReadGraph(Document& document, const Json& value,
                std::map<std::string, int>& slots);

}  // namespace foretell::exported
