#pragma once

#include "foretell/frontends.h"
#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// `model` with the patterns that exporters make of one PyTorch operator
/// replaced by one node of domain "foretell" each: in the main graph, in graphs
/// that nodes hold and in function bodies. A pattern stays unchanged if a value
/// inside of it is an output or has another reader.
///
/// The function that the model computes does not change beyond rounding, except
/// for rows of attention in which the mask hides every key: they become 0, as
/// in PyTorch, instead of NaN. Initializers that only such patterns read are
/// dropped.
Model RecogniseFusedPatterns(Model model, Fusion setting = Fusion::kExported);

}  // namespace foretell::onnx
