#pragma once

#include <vector>

#include "foretell/graph.h"
#include "src/runtime/compile/region.h"

namespace foretell::runtime {

/// `step` as its compiled `regions` run it: their forward passes in order,
/// their backward passes in the reverse one, and the step's optimizer. The
/// first kernel of each pass has kCallAttribute.
///
/// What a region hands to a later one lives as long as the forward pass: the
/// functions that Dynamo resumes in call each other, and their locals stay.
OperatorGraph JoinRegions(const OperatorGraph& step,
                          const std::vector<Region>& regions);

}  // namespace foretell::runtime
