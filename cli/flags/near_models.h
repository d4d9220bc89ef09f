#pragma once

#include <string>

namespace foretell::cli {

/// What to do with a name that is no model file: "zoo:resnet50 is a stock
/// network" of "resnet50", "URLs are not fetched: …". Empty where its form says
/// nothing.
std::string NextStepFor(const std::string& name);

}  // namespace foretell::cli
