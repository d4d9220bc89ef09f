#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

/// Adds a call to those of the operator that runs: a kernel of a library, which
/// the dispatcher does not see. RepeatScope counts. Nothing happens unless a
/// trace lists the operator's calls.
///
/// Every tensor must lie in memory of the trace. Defined by the recorder.
void WriteCall(std::string target, const std::vector<at::Tensor>& operands,
               const std::vector<at::Tensor>& results,
               Attributes attributes = {});

}  // namespace foretell
