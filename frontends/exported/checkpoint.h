#pragma once

#include <memory>
#include <vector>

#include "frontends/exported/graph.h"

namespace foretell::exported {

class Interpreter;

/// Runs `graph` as torch.utils.checkpoint does: what its backward pass needs is
/// not kept but computed again from `inputs`, which are kept. The interpreter
/// must live until the backward pass is over.
std::vector<c10::IValue> RunCheckpointed(Interpreter& interpreter,
                                         std::shared_ptr<const Graph> graph,
                                         std::vector<c10::IValue> inputs);

}  // namespace foretell::exported
