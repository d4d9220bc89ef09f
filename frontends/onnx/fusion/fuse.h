#pragma once

#include "foretell/frontends.h"
#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Replaces each pattern that an exporter writes for one PyTorch operator by a
/// node of domain "foretell": in the main graph, in graphs that nodes hold and
/// in function bodies. A pattern stays unchanged if a value inside of it is an
/// output or has another reader.
///
/// The function that the model computes does not change beyond rounding, except
/// for rows of attention in which the mask hides every key: they become 0, as
/// in PyTorch, instead of NaN. Initializers that only such patterns read are
/// dropped.
Model RecogniseFusedPatterns(Model model, Fusion setting = Fusion::kExported);

}  // namespace foretell::onnx
