#include <cstring>
#include <optional>
#include <string>

#include "frontends/onnx/reader/data_types.h"
#include "frontends/onnx/reader/tensor.h"
#include "frontends/onnx/reader/text.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Payload = TensorLiteral::Payload;

void CheckParts(const TensorLiteral& values, const TensorLiteral& indices,
                const TensorLiteral& dense) {
  if (values.dims.size() != 1) {
    throw Corrupt("its values have rank {}, expected 1", values.dims.size());
  }
  if (indices.data_type != kOnnxInt64) {
    throw Corrupt("its indices are {}, expected INT64",
                  DataTypeName(indices.data_type));
  }
  const auto rank = static_cast<std::int64_t>(dense.dims.size());
  const std::int64_t count = values.dims[0];
  const bool linear = indices.dims == std::vector<std::int64_t>{count};
  const bool tuples = indices.dims == std::vector<std::int64_t>{count, rank};
  if (!linear && !tuples) {
    throw Corrupt("its indices have shape {}, expected [{}] or [{},{}] for {}",
                  DimsText(indices.dims), count, count, rank,
                  Counted(count, "value"));
  }
}

std::int64_t IndexAt(const TensorLiteral& indices, std::size_t position) {
  std::int64_t index = 0;
  std::memcpy(&index, indices.bytes.data() + position * sizeof index,
              sizeof index);
  return index;
}

std::int64_t CheckedIndex(std::int64_t index, std::int64_t size) {
  if (index < 0 || index >= size) {
    throw Corrupt("index {} is out of range [0, {})", index, size);
  }
  return index;
}

// Row-major position of value `k` in `dense`.
std::int64_t PositionOf(std::size_t k, const TensorLiteral& indices,
                        const TensorLiteral& dense) {
  if (indices.dims.size() == 1) {
    return CheckedIndex(IndexAt(indices, k), dense.NumElements());
  }
  const std::size_t rank = dense.dims.size();
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t index = IndexAt(indices, k * rank + axis);
    position =
        position * dense.dims[axis] + CheckedIndex(index, dense.dims[axis]);
  }
  return position;
}

void ScatterValues(const TensorLiteral& values, const TensorLiteral& indices,
                   std::size_t width, TensorLiteral& dense) {
  for (std::size_t k = 0; k < values.bytes.size() / width; ++k) {
    const auto position =
        static_cast<std::size_t>(PositionOf(k, indices, dense));
    std::memcpy(dense.bytes.data() + position * width,
                values.bytes.data() + k * width, width);
  }
}

void FillDense(const TensorLiteral& values, const TensorLiteral& indices,
               std::int64_t max_dense_bytes, TensorLiteral& dense) {
  CheckDims(dense.dims);
  CheckParts(values, indices, dense);
  const DataType& type = *FindDataType(dense.data_type);
  const std::optional<std::int64_t> bytes = RawBytes(type, dense.NumElements());
  if (!bytes) throw Corrupt("its size exceeds 64 bits");
  dense.payload = Payload::kSkipped;
  if (values.payload == Payload::kExternal ||
      indices.payload == Payload::kExternal) {
    dense.payload = Payload::kExternal;
    return;
  }
  const bool whole_bytes = type.bits > 0 && type.bits % 8 == 0;
  if (!whole_bytes || *bytes > max_dense_bytes ||
      values.payload != Payload::kInline ||
      indices.payload != Payload::kInline) {
    return;
  }
  dense.payload = Payload::kInline;
  dense.bytes.assign(static_cast<std::size_t>(*bytes), '\0');
  ScatterValues(values, indices, static_cast<std::size_t>(type.bits / 8),
                dense);
}

}  // namespace

TensorLiteral ConvertSparseTensor(::onnx::SparseTensorProto& proto,
                                  const std::vector<SkippedPayload>& skipped,
                                  std::int64_t max_dense_bytes) {
  const TensorLiteral values = ConvertTensor(*proto.mutable_values(), skipped);
  const TensorLiteral indices =
      ConvertTensor(*proto.mutable_indices(), skipped);
  TensorLiteral dense;
  dense.name = values.name;
  dense.data_type = values.data_type;
  dense.dims.assign(proto.dims().begin(), proto.dims().end());
  InContext([&] { return "sparse tensor " + TensorText(dense); },
            [&] { FillDense(values, indices, max_dense_bytes, dense); });
  return dense;
}

}  // namespace foretell::onnx
