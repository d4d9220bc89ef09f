#pragma once

#include <string>
#include <vector>

#include "foretell/graph.h"
#include "foretell/program.h"

namespace foretell {

/// Makes the parameters of an instance for inference what they are in PyTorch,
/// leaves that require gradients, unless the instance itself marks one of them
/// so. Integers are left alone.
void RequireGradients(const ProgramInstance& instance);

/// Warnings for a trace in grad mode that keeps less than the network of its
/// file would in PyTorch; empty for other traces.
std::vector<std::string> GradModeWarnings(const OperatorGraph& graph);

}  // namespace foretell
