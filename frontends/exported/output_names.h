#pragma once

#include <string>
#include <vector>

#include "frontends/exported/document.h"

namespace foretell::exported {

/// Path of each result in what the network returns: "logits",
/// "past_key_values.0.1". Empty for a result of a plain tuple or list. `module`
/// is the document's graph_module; returns nothing if that has no paths, or has
/// them in an unknown form (torch/utils/_pytree.py writes it).
std::vector<std::string> OutputPaths(const Document& document,
                                     const Json& module);

}  // namespace foretell::exported
