#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "foretell/graph.h"
#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Type of a TensorProto.DataType code in a run of `precision` (StoredAs);
/// throws Error(kUnsupported) without an equivalent in ATen.
at::ScalarType ScalarTypeOf(std::int64_t onnx_code, Precision precision);

/// The literal on the CPU with its values; throws Error(kUnsupported) when its
/// payload was not read or its type has no equivalent in ATen.
at::Tensor HostTensor(const TensorLiteral& literal, Precision precision);

/// The literal on the meta device, in the type that ScalarTypeOf gives.
/// Elements smaller than a byte have the storage that the file packs them in.
at::Tensor MetaTensor(const TensorLiteral& literal, Precision precision);

}  // namespace foretell::onnx
