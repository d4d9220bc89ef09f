#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foretell/frontends.h"
#include "tests/conformance/case.h"
#include "tests/conformance/outcome.h"

namespace foretell::conformance {

/// Runs every data set of `target` through the ONNX frontend on the CPU in
/// fp32, its patterns replaced as `fusion` says, and compares its outputs.
/// Throws nothing: whatever happens is in the result.
///
/// A refusal counts as one only when its message names an operator of the model
/// or the element type of one of its values; else it is an error.
CaseResult RunCase(const Case& target, Fusion fusion = Fusion::kOff);

/// Why the outputs of the case `name` cannot be foretold and are compared by
/// type and shape alone; empty for all others.
std::optional<std::string_view> ReasonForRandomness(std::string_view name);

}  // namespace foretell::conformance
