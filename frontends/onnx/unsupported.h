#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Operators of `model`, its subgraphs and functions that no table row lowers:
/// one line of text per operator, with the name of the first node and how many
/// there are. Empty when everything can run.
std::vector<std::string> UnsupportedOperators(const Model& model);

/// Names ("NonZero") of its operators whose row states that they depend on
/// data, sorted.
std::vector<std::string> DataDependentOperators(const Model& model);

}  // namespace foretell::onnx
