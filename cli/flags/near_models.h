#pragma once

#include <string>

namespace foretell::cli {

/// A hint for a name that is not a model file: "zoo:resnet50 is a stock
/// network" for "resnet50", "URLs are not fetched: …". Empty if its form gives
/// no hint.
std::string NextStepFor(const std::string& name);

}  // namespace foretell::cli
