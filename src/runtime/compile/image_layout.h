#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// Whether Inductor makes the step's convolutions work on channels-last images.
bool PrefersChannelsLast(const OperatorGraph& graph);

}  // namespace foretell::runtime
