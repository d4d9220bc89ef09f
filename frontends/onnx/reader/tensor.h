#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frontends/onnx/reader/model.h"
#include "frontends/onnx/reader/wire.h"
#include "onnx-ml.pb.h"

namespace foretell::onnx {

/// Highest rank of a tensor that is read.
inline constexpr std::size_t kMaxRank = 64;

/// Throws Error(kCorrupt) for a negative dimension, a product beyond int64, or
/// a rank above kMaxRank. The message names `dims` but not the tensor.
void CheckDims(std::span<const std::int64_t> dims);

/// Turns a tensor of the slim message into a literal, elements packed as
/// raw_data holds them; takes the strings out of `proto`.
///
/// Throws Error that names the tensor: kCorrupt if its dimensions are invalid
/// or its payload, read or skipped, does not match them; kUnsupported for an
/// unknown data type.
TensorLiteral ConvertTensor(::onnx::TensorProto& proto,
                            const std::vector<SkippedPayload>& skipped);

/// Turns a sparse tensor into the equivalent dense literal. Beyond
/// `max_dense_bytes`, with skipped parts, or with strings, the literal is
/// kSkipped (kExternal with external parts) and has the dense dimensions.
///
/// Throws Error that names the tensor: kCorrupt when values, indices and
/// dimensions disagree; as ConvertTensor for its parts.
TensorLiteral ConvertSparseTensor(::onnx::SparseTensorProto& proto,
                                  const std::vector<SkippedPayload>& skipped,
                                  std::int64_t max_dense_bytes);

}  // namespace foretell::onnx
