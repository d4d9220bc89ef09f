#pragma once

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Makes initializers of `graph` of the weights that bodies of If, Loop and
/// Scan hold: their own initializers and, if neither `graph` nor any body has a
/// matrix of floats as one, the tensors in their Constant nodes. Single numbers
/// and results stay. A name that the file uses twice gets a number.
///
/// So both branches of an If count as parameters and take memory, as they do in
/// a session of ONNX Runtime and in a module of PyTorch.
void LiftBranchWeights(Graph& graph);

}  // namespace foretell::onnx
