#pragma once

#include "frontends/onnx/reader/model.h"
#include "onnx-ml.pb.h"

namespace foretell::onnx {

/// The kind that `proto` declares; without one, as in files of the first
/// exporters, the kind of the first value that it has.
Attribute::Kind AttributeKindOf(const ::onnx::AttributeProto& proto);

/// Throws Error(kCorrupt) when `proto` lacks the value of `kind` and the kind
/// has no natural default: a tensor, graph, sparse tensor or type.
void RequireAttributeValue(const ::onnx::AttributeProto& proto,
                           Attribute::Kind kind);

}  // namespace foretell::onnx
