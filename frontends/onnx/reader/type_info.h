#pragma once

#include "frontends/onnx/reader/model.h"
#include "onnx-ml.pb.h"

namespace foretell::onnx {

/// Turns a type into its structure. A dimension of -1, which some exporters
/// write for one they do not know, becomes unknown. Throws Error(kCorrupt) for
/// invalid shapes.
TypeInfo ConvertType(const ::onnx::TypeProto& proto);

/// Throws Error(kCorrupt) that names the value.
ValueInfo ConvertValueInfo(::onnx::ValueInfoProto& proto);

}  // namespace foretell::onnx
