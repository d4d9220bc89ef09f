#pragma once

#include <string>
#include <vector>

#include "frontends/exported/document.h"

namespace foretell::exported {

/// Where each result stands in what the network returns: "logits",
/// "past_key_values.0.1". Empty for a result of a plain tuple or list. `module`
/// is the document's graph_module; nothing where it does not say, or says it in
/// a form that is not known (torch/utils/_pytree.py writes it).
std::vector<std::string> OutputPaths(const Document& document,
                                     const Json& module);

}  // namespace foretell::exported
