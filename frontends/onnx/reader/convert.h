#pragma once

#include <vector>

#include "frontends/onnx/reader/model.h"
#include "frontends/onnx/reader/wire.h"
#include "onnx-ml.pb.h"

namespace foretell::onnx {

/// Turns the parsed slim message into the structures of model.h; takes the
/// strings out of `proto`. Graphs and functions come out checked and sorted
/// (ResolveScope), the domain "ai.onnx" as "".
///
/// Throws Error that names the place: kCorrupt for a model without graph,
/// operator set or IR version, for missing or repeated names, and as
/// ConvertTensor and ResolveScope do; kUnsupported for another IR version.
Model ConvertModel(::onnx::ModelProto& proto,
                   const std::vector<SkippedPayload>& skipped,
                   const ReadOptions& options);

}  // namespace foretell::onnx
