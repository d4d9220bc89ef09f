#pragma once

#include <string>
#include <vector>

#include "foretell/graph.h"
#include "foretell/program.h"

namespace foretell {

/// Makes the parameters of an instance for inference what they are in PyTorch,
/// leaves that require gradients, unless it says itself of one of them that it
/// does. Integers are left alone.
void RequireGradients(const ProgramInstance& instance);

/// Sentences on a trace in grad mode that keeps less than the network of its
/// file would in PyTorch; none of other traces.
std::vector<std::string> GradModeWarnings(const OperatorGraph& graph);

}  // namespace foretell
